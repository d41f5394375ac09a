// Loads a model that somebody trained (in Python, in a shell, on a cluster) and answers with it: a
// line of inputs in, a line of predictions out, each with its standard deviation.
//     serve MODEL.mercer < rows.txt
#include <mercer/mercer.hpp>

#include <cstdio>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: serve MODEL.mercer < rows.txt\n");
    return 2;
  }
  try {
    const mercer::Model model = mercer::Model::load(argv[1]);
    const mercer::Index d = model.inputs(), p = model.outputs();
    std::vector<double> x(d), mean(p), deviation(p);
    for (;;) {
      for (double& value : x) std::cin >> value;
      if (!std::cin) return 0;
      model.predict({x.data(), 1, d}, {mean.data(), 1, p}, {deviation.data(), 1, p});
      for (mercer::Index a = 0; a < p; ++a) std::printf("%s%.6f +- %.6f", a == 0 ? "" : ", ", mean[a], deviation[a]);
      std::printf("\n");
    }
  } catch (const mercer::Error& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 1;
  }
}
