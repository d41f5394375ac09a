// Loads a model that somebody trained (in Python, in a shell, on a cluster) and answers with it: one line of inputs in, one line of predictions out, each with
// its standard deviation.
//     serve MODEL.mercer < rows.txt
#include <mercer/mercer.hpp>

#include <cstdio>
#include <iostream>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) throw mercer::Error("usage: serve MODEL.mercer < rows.txt");
  const mercer::Model model = mercer::Model::load(argv[1]);
  if (!model.has_uncertainty()) throw mercer::Error("this model keeps no standard deviations");
  std::vector<double> x(static_cast<std::size_t>(model.inputs()));
  std::vector<double> mean(static_cast<std::size_t>(model.outputs())), deviation(mean.size());
  for (;;) {
    for (double& value : x) std::cin >> value;
    if (!std::cin) break;
    model.predict({x.data(), 1, model.inputs()}, {mean.data(), 1, model.outputs()}, {deviation.data(), 1, model.outputs()});
    for (std::size_t a = 0; a < mean.size(); ++a) std::printf("%s%.6f +- %.6f", a == 0 ? "" : ", ", mean[a], deviation[a]);
    std::printf("\n");
  }
} catch (const mercer::Error& error) {
  std::fprintf(stderr, "serve: %s\n", error.what());
  return 1;
}
