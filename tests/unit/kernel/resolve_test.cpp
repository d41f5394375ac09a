#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <Eigen/Dense>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "kernel/resolve.hpp"
#include "unit/kernel/kernel_samples.hpp"

namespace mercer {
namespace {

DataFacts facts(Index d, Index p) {
  DataFacts result;
  result.inputs = d;
  result.outputs = p;
  result.median_distance = 0.75;
  for (Index j = 0; j < p; ++j) result.output_names.push_back("y" + std::to_string(j));
  return result;
}

std::string resolved(const std::string& text, const DataFacts& data) {
  return to_string(resolve(parse_kernel(text), data));
}

void expect_refused(const std::string& text, const DataFacts& data, const std::string& fragment,
                    ErrorKind kind = ErrorKind::invalid_argument) {
  try {
    resolve(parse_kernel(text), data);
    ADD_FAILURE() << "accepted " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos) << text << "\n  gave " << error.what();
  }
}

TEST(KernelResolve, PutsTheMedianDistance) {
  DataFacts data = facts(3, 2);
  EXPECT_EQ(resolved("gaussian() + 2*matern(median, nu=2.5)*laplacian(1)", data),
            "gaussian(0.75) + 2*matern(0.75, nu=2.5)*laplacian(1)");
  EXPECT_EQ(resolved("helmholtz(cauchy() + rational_quadratic(), 0.5)", facts(2, 2)),
            "helmholtz(cauchy(0.75) + rational_quadratic(0.75, alpha=1), 0.5)");
  for (const double useless :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    data.median_distance = useless;
    EXPECT_EQ(resolved("gaussian()", data), "gaussian(1)");
  }
  EXPECT_TRUE(needs_median(parse_kernel("linear() + 2*(gaussian(1)*cauchy())")));
  EXPECT_TRUE(needs_median(parse_kernel("gaussian(1) + curl_free(gaussian())")));
  EXPECT_FALSE(needs_median(parse_kernel("gaussian(1) + linear()*polynomial() + spectral_mixture([1],[1],[1])")));
  EXPECT_TRUE(needs_covariance(parse_kernel("linear() + decomposable(gaussian(1), covariance)")));
  EXPECT_FALSE(needs_covariance(parse_kernel("linear() + decomposable(gaussian(1), identity)")));
}

TEST(KernelResolve, ChecksLengthScalesAgainstTheInputs) {
  EXPECT_EQ(resolved("gaussian([1, 2, 3])", facts(3, 1)), "gaussian([1, 2, 3])");
  EXPECT_EQ(resolved("gaussian(2)", facts(3, 1)), "gaussian(2)");
  expect_refused("linear() + 2*gaussian([1, 2])", facts(3, 1), "gaussian has 2 length scales, and there are 3 inputs");
  expect_refused("matern([1, 2])", facts(1, 1), "matern has 2 length scales, and there is 1 input");
  expect_refused("spectral_mixture([1],[1],[1])", facts(2, 1), "spectral_mixture has means and scales of 1 number");
  EXPECT_THROW(resolve({{{1, Decomposable{{Gaussian{{{-1}}}}, IdentityOutputs{}}}}}, facts(1, 1)), Error);
  EXPECT_THROW(resolve({{{0, Decomposable{{Linear{}}, IdentityOutputs{}}}}}, facts(1, 1)), Error);
  EXPECT_THROW(resolve({{{1, Decomposable{{Scaled{}}, IdentityOutputs{}}}}}, facts(1, 1)), Error);
  EXPECT_THROW(resolve({{{1, Helmholtz{{Gaussian{{{1}}}}, 2}}}}, facts(2, 2)), Error);
  EXPECT_THROW(resolve({}, facts(1, 1)), Error);
}

TEST(KernelResolve, ChecksVectorFields) {
  expect_refused(
      "curl_free(laplacian(0.3))", facts(2, 2),
      "curl_free needs a kernel with a second derivative at 0, and laplacian has none (its frequencies have infinite "
      "variance); try matern(0.3, nu=1.5) or gaussian(0.3)");
  expect_refused("curl_free(laplacian())", facts(2, 2), "try matern(median, nu=1.5) or gaussian(median)");
  expect_refused("helmholtz(gaussian(1) + matern([1, 2], nu=1))", facts(2, 2),
                 "helmholtz needs a kernel with a second derivative at 0, and matern with nu = 1 has none");
  expect_refused("divergence_free(gaussian(1)*(2*matern(1, nu=0.5)))", facts(2, 2), "matern with nu = 0.5");
  expect_refused("curl_free(linear())", facts(2, 2), "linear is not one");
  expect_refused("curl_free(gaussian(1)*polynomial())", facts(2, 2), "polynomial is not one");
  expect_refused("curl_free(gaussian(1))", facts(3, 2), "there are 2 outputs and 3 inputs");
  expect_refused("gaussian(1) + helmholtz(gaussian(1))", facts(2, 1), "there is 1 output and 2 inputs");
  expect_refused("divergence_free(gaussian(1))", facts(1, 1), "divergence_free needs at least 2 inputs");
  expect_refused("helmholtz(gaussian(1))", facts(1, 1), "helmholtz needs at least 2 inputs");
  EXPECT_EQ(resolved("curl_free(gaussian(1))", facts(1, 1)), "curl_free(gaussian(1))");
  EXPECT_EQ(resolved("curl_free(matern(1, nu=1.1)) + divergence_free(cauchy(2))", facts(3, 3)),
            "curl_free(matern(1, nu=1.1)) + divergence_free(cauchy(2))");
}

TEST(KernelResolve, ChecksOutputMatrices) {
  EXPECT_EQ(resolved("decomposable(gaussian(1), [[2, 0.5], [0.5, 1]])", facts(3, 2)),
            "decomposable(gaussian(1), [[2, 0.5], [0.5, 1]])");
  EXPECT_EQ(resolved("decomposable(gaussian(1), [[1, 1], [1, 1]])", facts(3, 2)),
            "decomposable(gaussian(1), [[1, 1], [1, 1]])");
  EXPECT_EQ(resolved("decomposable(gaussian(1), [[0]])", facts(3, 1)), "decomposable(gaussian(1), [[0]])");
  expect_refused("decomposable(gaussian(1), [[2, 0.5], [0.5, 1]])", facts(3, 3),
                 "the output matrix is 2 × 2, and there are 3");
  expect_refused("decomposable(gaussian(1), [[2, 0.5], [0.4, 1]])", facts(3, 2), "symmetric; entry (2, 1) is 0.4");
  expect_refused("decomposable(gaussian(1), [[1, 2], [2, 1]])", facts(3, 2), "smallest eigenvalue is -");
  expect_refused("decomposable(gaussian(1), [[-3]])", facts(3, 1), "smallest eigenvalue is -3");
  // Rounding in the text is forgiven and symmetrised.
  const OperatorKernel kernel =
      resolve(parse_kernel("decomposable(linear(), [[1, 0.1000000000000001], [0.1, 1]])"), facts(1, 2));
  const auto& given = std::get<GivenOutputs>(std::get<Decomposable>(kernel.terms[0].form).outputs).matrix;
  EXPECT_EQ(given[0][1], given[1][0]);
  EXPECT_NEAR(given[0][1], 0.1, 1e-15);
}

TEST(KernelResolve, CovarianceAndQuantilesBecomeNumbers) {
  DataFacts data = facts(1, 2);
  expect_refused("decomposable(linear(), covariance)", data, "covariance");
  data.output_covariance = Matrix<double>(2, 2, {4, 1, 1, 2});
  EXPECT_EQ(resolved("decomposable(linear(), covariance)", data), "decomposable(linear(), [[4, 1], [1, 2]])");
  data.output_covariance(0, 0) = std::numeric_limits<double>::quiet_NaN();
  expect_refused("decomposable(linear(), covariance)", data, "must be finite");
  const OperatorKernel kernel =
      resolve(parse_kernel("decomposable(linear(), quantile([0.1, 0.5, 0.9], gamma=2))"), facts(1, 3));
  const Matrix<double> a = output_matrix(std::get<Decomposable>(kernel.terms[0].form).outputs, 3);
  const std::vector<double> levels = {0.1, 0.5, 0.9};
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) EXPECT_NEAR(a(i, j), std::exp(-2 * std::pow(levels[i] - levels[j], 2)), 1e-15);
  }
  expect_refused("decomposable(linear(), quantile([0.1, 0.5]))", facts(1, 3),
                 "quantile has 2 levels, and there are 3 outputs");
}

TEST(KernelResolve, OutputMatrixOfResolvedForms) {
  const Matrix<double> one = output_matrix(IdentityOutputs{}, 3);
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) EXPECT_EQ(one(i, j), i == j ? 1 : 0);
  }
  EXPECT_EQ(output_matrix(GivenOutputs{{{1, 2}, {3, 4}}}, 2)(1, 0), 3);
  EXPECT_THROW(output_matrix(GivenOutputs{{{1, 2}, {3, 4}}}, 3), Error);
  EXPECT_THROW(output_matrix(CovarianceOutputs{}, 2), Error);
}

class GraphFile : public ::testing::Test {
 protected:
  GraphFile()
      : path_(std::filesystem::temp_directory_path() /
              ("mercer_graph_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv")) {}
  ~GraphFile() override { std::filesystem::remove(path_); }

  std::string text(const std::string& contents, const std::string& mix = "1") {
    std::ofstream(path_, std::ios::binary) << contents;
    return "decomposable(linear(), graph(\"" + path_.string() + "\", " + mix + "))";
  }

  ::Eigen::MatrixXd matrix(const std::string& contents, const std::string& mix, const DataFacts& data) {
    const OperatorKernel kernel = resolve(parse_kernel(text(contents, mix)), data);
    const Matrix<double> a = output_matrix(std::get<Decomposable>(kernel.terms[0].form).outputs, data.outputs);
    ::Eigen::MatrixXd result(data.outputs, data.outputs);
    for (Index i = 0; i < data.outputs; ++i) {
      for (Index j = 0; j < data.outputs; ++j) result(i, j) = a(i, j);
    }
    return result;
  }

  std::filesystem::path path_;
};

/// A path 0 - 1 - 2 with weights 1 and 3, and 3 on its own.
::Eigen::MatrixXd path_laplacian() {
  ::Eigen::MatrixXd l(4, 4);
  l << 1, -1, 0, 0, -1, 4, -3, 0, 0, -3, 3, 0, 0, 0, 0, 0;
  return l;
}

TEST_F(GraphFile, MixedIsTheInverse) {
  const ::Eigen::MatrixXd identity = ::Eigen::MatrixXd::Identity(4, 4);
  const ::Eigen::MatrixXd expected = (0.3 * path_laplacian() + 0.7 * identity).inverse();
  for (const char* contents :
       {"0,1\n1,2,3\n", "from,to,weight\ny0,y1,1\ny1,y2,3\n", "\xef\xbb\xbfsource,target\r\n 0 , 1 \r\n\r\n# c\r\n2,1,3e0",
        "y0,1\n\"y2\",y1,3\n1,0\n1,2,3\n", "\n\na,b\n0,1\n1,2,3"}) {
    EXPECT_LE((matrix(contents, "0.3", facts(1, 4)) - expected).cwiseAbs().maxCoeff(), 1e-14) << contents;
  }
  EXPECT_LE((matrix("0,1\n", "0", facts(1, 4)) - identity).cwiseAbs().maxCoeff(), 1e-14);
}

TEST_F(GraphFile, PureIsThePseudoInverse) {
  const ::Eigen::MatrixXd a = matrix("0,1\n1,2,3\n", "1", facts(1, 4));
  const ::Eigen::MatrixXd l = path_laplacian();
  // Penrose's four conditions.
  EXPECT_LE((l * a * l - l).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LE((a * l * a - a).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LE((l * a - (l * a).transpose()).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LE((a - a.transpose()).cwiseAbs().maxCoeff(), 0);
}

TEST_F(GraphFile, NamesWinOverNumbers) {
  DataFacts data = facts(1, 2);
  data.output_names = {"1", "x,y"};
  const ::Eigen::MatrixXd a = matrix("1,\"x,y\",2\n", "0.5", data);
  ::Eigen::MatrixXd expected(2, 2);
  expected << 1 + 0.5, -1, -1, 1 + 0.5;
  EXPECT_LE((a - expected.inverse()).cwiseAbs().maxCoeff(), 1e-14);
}

TEST_F(GraphFile, RefusesWithFileAndLine) {
  const DataFacts data = facts(1, 3);
  const auto refused = [&](const std::string& contents, const std::string& fragment) {
    expect_refused(text(contents), data, fragment, ErrorKind::file);
  };
  refused("", "has no edges");
  refused("from,to\n", "has no edges");
  refused("0,1\n0\n", "line 2: expected from,to or from,to,weight");
  refused("0,1,2,3\n", "line 1: expected from,to");
  refused("0,1\n0,9\n", "line 2: no output '9'");
  refused("0,1\n0,-1\n", "line 2: no output '-1'");
  refused("0,1\ny0,z1\n", "line 2: no output 'z1' (did you mean 'y1'?)");
  refused("y0,yy\n", "line 1: no output 'yy'");
  refused("a,b,1\n", "line 1: no output 'a'");
  refused("from,to\nfrom,to\n", "line 2: no output 'from'");
  refused("0,1,-2\n", "weight must be > 0, got '-2'");
  refused("0,1,0\n", "weight must be > 0");
  refused("0,1,inf\n", "weight must be > 0");
  refused("0,1,x\n", "weight must be > 0, got 'x'");
  refused("0,0\n", "two different outputs");
  refused("0,1,2\n1,0,3\n", "line 2: this edge was given before with weight 2, now 3");
  refused("0,99999999999999999999999\n", "line 1: no output '99999999999999999999999'");
  expect_refused("decomposable(linear(), graph(\"/nonexistent/edges.csv\"))", data, "cannot open", ErrorKind::file);
  expect_refused("decomposable(linear(), graph(\"/\"))", data, "'/'", ErrorKind::file);
  expect_refused("decomposable(linear(), graph(\"/dev/zero\"))", data, "larger than 64 MiB", ErrorKind::file);
}

}  // namespace
}  // namespace mercer
