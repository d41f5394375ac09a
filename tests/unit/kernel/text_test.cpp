#include <gtest/gtest.h>
#include <mercer/error.hpp>
#include <mercer/kernel.hpp>

#include <bit>
#include <limits>
#include <random>

#include "unit/kernel/kernel_samples.hpp"

namespace mercer {
namespace {

void expect_round_trip(const OperatorKernel& kernel) {
  const std::string text = to_string(kernel);
  const OperatorKernel again = parse_kernel(text);
  EXPECT_EQ(again, kernel) << text;
  EXPECT_EQ(to_string(again), text);
}

TEST(KernelText, ReadsEveryScalarForm) {
  const auto same = [](const char* text, const Kernel& kernel) {
    EXPECT_EQ(samples::scalar(text), kernel) << text;
    EXPECT_TRUE(is_decomposable(parse_kernel(text)));
    EXPECT_FALSE(is_vector_field(parse_kernel(text)));
  };
  const LengthScale median{{}, true};
  same("gaussian(0.3)", {Gaussian{{{0.3}}}});
  same("  gaussian ( 0.3 ) \n", {Gaussian{{{0.3}}}});
  same("gaussian([0.3,0.5])", {Gaussian{{{0.3, 0.5}}}});
  same("gaussian([0.3])", {Gaussian{{{0.3}}}});
  same("gaussian(median)", {Gaussian{median}});
  same("gaussian()", {Gaussian{median}});
  same("gaussian", {Gaussian{median}});
  same("gaussian(length_scale=1e-3)", {Gaussian{{{1e-3}}}});
  same("matern(0.3, nu=2.5)", {Matern{{{0.3}}, 2.5}});
  same("matern(0.3, 2.5)", {Matern{{{0.3}}, 2.5}});
  same("matern(nu=.5, length_scale=[1,2])", {Matern{{{1, 2}}, 0.5}});
  same("matern(0.3)", {Matern{{{0.3}}, 1.5}});
  same("matern()", {Matern{median, 1.5}});
  same("laplacian(2)", {Laplacian{{{2}}}});
  same("cauchy(+2E+1)", {Cauchy{{{20}}}});
  same("rational_quadratic(0.6, alpha=1.5)", {RationalQuadratic{{{0.6}}, 1.5}});
  same("rational_quadratic(0.6)", {RationalQuadratic{{{0.6}}, 1}});
  same("spectral_mixture(weights=[1,2], means=[0.1,-0.2], scales=[0,3])",
       {SpectralMixture{{1, 2}, {{0.1}, {-0.2}}, {{0}, {3}}}});
  same("spectral_mixture([1], [[0.1,0.2]], [[1,2]])", {SpectralMixture{{1}, {{0.1, 0.2}}, {{1, 2}}}});
  same("linear()", {Linear{}});
  same("polynomial(degree=3, offset=1)", {Polynomial{3, 1}});
  same("polynomial()", {Polynomial{2, 1}});
  same("polynomial(offset=0)", {Polynomial{2, 0}});
}

TEST(KernelText, ReadsTheAlgebra) {
  const Kernel a{Gaussian{{{1}}}};
  const Kernel b{Linear{}};
  const Kernel c{Cauchy{{{2}}}};
  const auto same = [](const char* text, const Kernel& kernel) { EXPECT_EQ(samples::scalar(text), kernel) << text; };
  same("gaussian(1) + linear() + cauchy(2)", {Sum{{a, b, c}}});
  same("gaussian(1) + (linear() + cauchy(2))", {Sum{{a, b, c}}});
  same("((gaussian(1) + linear()) + cauchy(2))", {Sum{{a, b, c}}});
  same("gaussian(1)*linear()", {Product{{a, b}}});
  same("(gaussian(1)*linear())*cauchy(2)", {Product{{Kernel{Product{{a, b}}}, c}}});
  same("gaussian(1) + linear()*cauchy(2)", {Sum{{a, Kernel{Product{{b, c}}}}}});
  same("(gaussian(1) + linear())*cauchy(2)", {Product{{Kernel{Sum{{a, b}}}, c}}});
  same("0.5*gaussian(1)", {Scaled{0.5, {a}}});
  same("gaussian(1)*0.5", {Scaled{0.5, {a}}});
  same("2*gaussian(1)*3*linear()", {Scaled{6, {Kernel{Product{{a, b}}}}}});
  same("2*(3*gaussian(1))", {Scaled{2, {Kernel{Scaled{3, {a}}}}}});
  same("(2*gaussian(1))*linear()", {Product{{Kernel{Scaled{2, {a}}}, b}}});
  same("(2)*gaussian(1)", {Scaled{2, {a}}});
  same("2*(gaussian(1) + linear()) + cauchy(2)", {Sum{{Kernel{Scaled{2, {Kernel{Sum{{a, b}}}}}}, c}}});
}

TEST(KernelText, ReadsOperatorKernels) {
  const Kernel a{Gaussian{{{1}}}};
  const Kernel b{Linear{}};
  const auto same = [](const char* text, const OperatorKernel& kernel) { EXPECT_EQ(parse_kernel(text), kernel) << text; };
  const auto one = [](auto form, double weight = 1) { return OperatorKernel{{{weight, form}}}; };
  same("gaussian(1)", one(Decomposable{a, IdentityOutputs{}}));
  same("decomposable(gaussian(1))", one(Decomposable{a, IdentityOutputs{}}));
  same("decomposable(gaussian(1), identity)", one(Decomposable{a, IdentityOutputs{}}));
  same("decomposable(gaussian(1), [[2,0.5],[0.5,1]])", one(Decomposable{a, GivenOutputs{{{2, 0.5}, {0.5, 1}}}}));
  same("decomposable(gaussian(1), covariance)", one(Decomposable{a, CovarianceOutputs{}}));
  same("decomposable(gaussian(1), graph(\"edges.csv\"))", one(Decomposable{a, GraphOutputs{"edges.csv", 1}}));
  same(R"(decomposable(gaussian(1), outputs=graph("a \"b\" \\c.csv", 0.5)))",
       one(Decomposable{a, GraphOutputs{"a \"b\" \\c.csv", 0.5}}));
  same("decomposable(gaussian(1), graph(\"e\", mix=0.25))", one(Decomposable{a, GraphOutputs{"e", 0.25}}));
  same("decomposable(gaussian(1), quantile([0.1,0.5,0.9], gamma=2))",
       one(Decomposable{a, QuantileOutputs{{0.1, 0.5, 0.9}, 2}}));
  same("decomposable(gaussian(1), quantile([0.1,0.5,0.9]))", one(Decomposable{a, QuantileOutputs{{0.1, 0.5, 0.9}, 1}}));
  same("curl_free(gaussian(1))", one(CurlFree{a}));
  same("divergence_free(gaussian(1))", one(DivergenceFree{a}));
  same("helmholtz(gaussian(1))", one(Helmholtz{a, 0.5}));
  same("helmholtz(gaussian(1), 0.25)", one(Helmholtz{a, 0.25}));
  same("helmholtz(gaussian(1), share=0.25)", one(Helmholtz{a, 0.25}));
  same("2*curl_free(gaussian(1))*3", one(CurlFree{a}, 6));
  const OperatorTerm curl{1, CurlFree{a}};
  const OperatorTerm sum{1, Decomposable{{Sum{{a, b}}}, IdentityOutputs{}}};
  const OperatorTerm alone{1, Decomposable{a, IdentityOutputs{}}};
  same("curl_free(gaussian(1)) + gaussian(1) + linear()", {{curl, sum}});
  same("gaussian(1) + linear() + curl_free(gaussian(1))", {{sum, curl}});
  same("gaussian(1) + curl_free(gaussian(1)) + gaussian(1)", {{alone, curl, alone}});
  same("decomposable(gaussian(1)) + gaussian(1)", {{alone, alone}});
  same("0.5*(curl_free(gaussian(1)) + gaussian(1))", {{{0.5, CurlFree{a}}, {0.5, Decomposable{a, IdentityOutputs{}}}}});
  EXPECT_TRUE(is_vector_field(parse_kernel("gaussian(1) + helmholtz(gaussian(1))")));
  EXPECT_FALSE(is_decomposable(parse_kernel("decomposable(gaussian(1)) + gaussian(1)")));
  EXPECT_FALSE(is_decomposable(parse_kernel("curl_free(gaussian(1))")));
}

TEST(KernelText, PrintsTheDocumentedForm) {
  const auto printed = [](const char* text) { return to_string(parse_kernel(text)); };
  EXPECT_EQ(printed("gaussian()"), "gaussian(median)");
  EXPECT_EQ(printed("0.5*gaussian(1)+linear()"), "0.5*gaussian(1) + linear()");
  EXPECT_EQ(printed("matern([1,2])"), "matern([1, 2], nu=1.5)");
  EXPECT_EQ(printed("helmholtz(gaussian)"), "helmholtz(gaussian(median), 0.5)");
  EXPECT_EQ(printed("(gaussian(1)+linear())*(2*cauchy(1))"), "(gaussian(1) + linear())*(2*cauchy(1))");
  EXPECT_EQ(printed("spectral_mixture([1],[[0.1]],[0.2])"), "spectral_mixture(weights=[1], means=[0.1], scales=[0.2])");
  EXPECT_EQ(printed("decomposable(linear(), graph(\"a\\\"b\"))"), "decomposable(linear(), graph(\"a\\\"b\", 1))");
  EXPECT_EQ(printed("decomposable(gaussian(1)) + linear()"), "gaussian(1) + decomposable(linear(), identity)");
  EXPECT_EQ(to_string(samples::scalar("1e-7*linear()")), "1e-07*linear()");
}

TEST(KernelText, SamplesRoundTrip) {
  for (const std::string& text : samples::scalar_texts()) expect_round_trip(parse_kernel(text));
  for (const char* text :
       {"decomposable(gaussian(0.1), [[2, 0.5], [0.5, 1]])", "0.25*decomposable(2*linear(), covariance)",
        "decomposable(gaussian(1), graph(\"\\\\\\\"\", 0.3))", "decomposable(gaussian(1), quantile([0.1, 0.9], gamma=0))",
        "3*helmholtz(gaussian(1) + matern(1, nu=3), 1)",
        "0.1*(curl_free(gaussian(1)) + divergence_free(cauchy(2)) + linear())"}) {
    expect_round_trip(parse_kernel(text));
  }
}

/// Random canonical kernels: sums have at least two terms, none of them a sum; products at least two factors.
class RandomKernels {
 public:
  explicit RandomKernels(std::uint64_t seed) : engine_(seed) {}

  OperatorKernel operator_kernel() {
    OperatorKernel result;
    const int count = below(4) + 1;
    for (int i = 0; i < count; ++i) result.terms.push_back(term());
    return result;
  }

 private:
  int below(int bound) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(bound)); }

  /// Any positive finite double, often a short one.
  double positive() {
    if (below(2) == 0) return (1 + below(100)) / 10.0;
    double value = 0;
    while (!(value > 0 && value < std::numeric_limits<double>::infinity())) value = std::bit_cast<double>(engine_());
    return value;
  }
  double number() { return below(2) == 0 ? positive() : -positive(); }
  double unit() { return std::uniform_real_distribution<double>(0.001, 0.999)(engine_); }
  std::vector<double> positives(int count) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(positive());
    return values;
  }

  LengthScale length_scale() {
    if (below(4) == 0) return {{}, true};
    return {positives(below(3) + 1), false};
  }

  Kernel mixture() {
    SpectralMixture mixture;
    const int components = below(3) + 1;
    const int d = below(3) + 1;
    mixture.weights = positives(components);
    for (int q = 0; q < components; ++q) {
      mixture.means.emplace_back();
      for (int i = 0; i < d; ++i) mixture.means.back().push_back(number());
      mixture.scales.push_back(positives(d));
      mixture.scales.back().front() = below(2) == 0 ? 0 : positive();
    }
    return {mixture};
  }

  Kernel scalar(int depth) {
    switch (below(depth > 0 ? 11 : 8)) {
      case 0:
        return {Gaussian{length_scale()}};
      case 1:
        return {Matern{length_scale(), positive()}};
      case 2:
        return {Laplacian{length_scale()}};
      case 3:
        return {Cauchy{length_scale()}};
      case 4:
        return {RationalQuadratic{length_scale(), positive()}};
      case 5:
        return mixture();
      case 6:
        return {Linear{}};
      case 7:
        return {Polynomial{1 + below(100), below(2) == 0 ? 0 : positive()}};
      case 8:
        return {Scaled{positive(), {scalar(depth - 1)}}};
      case 9: {
        Product product;
        for (int i = below(3) + 2; i > 0; --i) product.factors.push_back(scalar(depth - 1));
        return {product};
      }
      default: {
        Sum sum;
        for (int i = below(3) + 2; i > 0; --i) {
          Kernel child = scalar(depth - 1);
          if (auto* inner = std::get_if<Sum>(&child.form)) {
            sum.terms.insert(sum.terms.end(), inner->terms.begin(), inner->terms.end());
          } else {
            sum.terms.push_back(child);
          }
        }
        return {sum};
      }
    }
  }

  OutputMatrix outputs() {
    switch (below(5)) {
      case 0:
        return IdentityOutputs{};
      case 1:
        return GivenOutputs{{{positive(), number()}, {number(), positive()}}};
      case 2:
        return CovarianceOutputs{};
      case 3:
        return GraphOutputs{below(2) == 0 ? "e.csv" : "a\"\\\n\x01 é", unit()};
      default:
        return QuantileOutputs{{unit(), unit()}, positive()};
    }
  }

  OperatorTerm term() {
    const double weight = below(2) == 0 ? 1 : positive();
    switch (below(4)) {
      case 0:
        return {weight, CurlFree{scalar(4)}};
      case 1:
        return {weight, DivergenceFree{scalar(4)}};
      case 2:
        return {weight, Helmholtz{scalar(4), unit()}};
      default:
        return {weight, Decomposable{scalar(4), outputs()}};
    }
  }

  std::mt19937_64 engine_;
};

TEST(KernelText, RandomKernelsRoundTrip) {
  RandomKernels random(1);
  for (int i = 0; i < 3000; ++i) {
    expect_round_trip(random.operator_kernel());
    if (HasFailure()) return;
  }
}

struct Malformed {
  std::string text;
  std::string fragment;
};

std::string repeated(const std::string& part, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += part;
  return result;
}

TEST(KernelText, RefusesMalformedTextsSayingWhy) {
  const std::vector<Malformed> cases = {
      {"", "empty"},
      {"  \n", "empty"},
      {"gausian(1)", "unknown kernel 'gausian' at position 1 (did you mean 'gaussian'?)"},
      {"gaussian(1) + mattern(1)", "unknown kernel 'mattern' at position 15 (did you mean 'matern'?)"},
      {"gaussian(1", "but the text ends"},
      {"gaussian(1))", "expected '+', '*' or the end but found ')' at position 12"},
      {"gaussian(1) gaussian(2)", "found 'g' at position 13"},
      {"gaussian(1) +", "but the text ends"},
      {"gaussian(1) * ", "but the text ends"},
      {"+ gaussian(1)", "expected a kernel, a number or '(' but found '+'"},
      {"gaussian(1) - gaussian(2)", "cannot be subtracted"},
      {"-gaussian(1)", "found '-'"},
      {"gaussian(-1)", "gaussian needs length scales > 0, got -1"},
      {"gaussian(0)", "got 0"},
      {"gaussian([])", "gaussian has no length scale"},
      {"gaussian([1, -2])", "got -2"},
      {"gaussian([1, 2)", "expected ']' or ',' in the list"},
      {"gaussian([1 2])", "expected ']' or ',' in the list"},
      {"gaussian([1,])", "expected a number but found ']'"},
      {"gaussian(1,)", "another stands at position 12"},
      {"gaussian(1, 2)", "gaussian takes at most 1 argument"},
      {"gaussian(mean)", "a length scale is a number, a list or median, not 'mean'"},
      {"gaussian(medain)", "did you mean 'median'?"},
      {"gaussian(lenght_scale=1)",
       "gaussian takes no argument 'lenght_scale' at position 10 (did you mean 'length_scale'?)"},
      {"gaussian(1, length_scale=2)", "gaussian got length_scale twice"},
      {"gaussian(length_scale=1, 2)", "no unnamed argument after a named one"},
      {"gaussian(1e999)", "not a number a double can hold"},
      {"gaussian(1e-999)", "not a number a double can hold"},
      {"gaussian(1.2.3)", "found '.'"},
      {"gaussian(.)", "'.' is not a number"},
      {"gaussian(1e)", "found 'e'"},
      {"gaussian(inf)", "not 'inf'"},
      {"gaussian(nan)", "not 'nan'"},
      {"matern(0.3, nu=-1)", "matern needs nu > 0, got -1"},
      {"matern(0.3, nu=0)", "matern needs nu > 0, got 0"},
      {"matern(0.3, nu=median)", "expected a number but found 'm' at position 16"},
      {"rational_quadratic(1, alpha=0)", "rational_quadratic needs alpha > 0, got 0"},
      {"polynomial(degree=2.5)", "polynomial needs a whole degree, got 2.5"},
      {"polynomial(degree=0)", "polynomial needs a degree from 1 to 100, got 0"},
      {"polynomial(degree=1e300)", "whole degree"},
      {"polynomial(offset=-1)", "polynomial needs offset >= 0, got -1"},
      {"linear(1)", "linear takes no arguments"},
      {"spectral_mixture()", "spectral_mixture needs weights, which is missing"},
      {"spectral_mixture(weights=[1], means=[1])", "needs scales, which is missing"},
      {"spectral_mixture(weights=[], means=[], scales=[])", "at least one weight"},
      {"spectral_mixture(weights=[1,2], means=[1], scales=[1,2])", "has 2 weights but 1 means"},
      {"spectral_mixture(weights=[1], means=[1], scales=[1,2])", "has 1 weights but 2 scales"},
      {"spectral_mixture(weights=[1], means=[[1,2]], scales=[[1]])", "one length"},
      {"spectral_mixture(weights=[1], means=[[]], scales=[[]])", "at least one number"},
      {"spectral_mixture(weights=[-1], means=[1], scales=[1])", "weights > 0, got -1"},
      {"spectral_mixture(weights=[1], means=[1], scales=[-1])", "scales >= 0, got -1"},
      {"spectral_mixture(weights=[1" + repeated(",1", 10000) + "], means=[1], scales=[1])", "at most 10000 components"},
      {"2", "a number alone is not a kernel"},
      {"2 + gaussian(1)", "a number alone is not a kernel"},
      {"2*3", "a number alone is not a kernel"},
      {"-2*gaussian(1)", "positive finite number, got -2 at position 1"},
      {"0*gaussian(1)", "positive finite number, got 0"},
      {"1e300*1e300*gaussian(1)", "positive finite number, got inf"},
      {"1e-300*(1e-300*curl_free(gaussian(1)))", "positive finite number, got 0"},
      {"gaussian(1)*curl_free(gaussian(1))", "can only be multiplied by a number"},
      {"curl_free(gaussian(1))*gaussian(1)", "can only be multiplied by a number"},
      {"curl_free(gaussian(1))*helmholtz(gaussian(1))", "can only be multiplied by a number"},
      {"(curl_free(gaussian(1)) + gaussian(2))*linear()", "can only be multiplied by a number"},
      {"curl_free(curl_free(gaussian(1)))", "curl_free takes a scalar kernel, and curl_free is operator-valued"},
      {"decomposable(2*(linear() + helmholtz(gaussian(1))))", "decomposable takes a scalar kernel"},
      {"curl_free()", "curl_free needs kernel, which is missing"},
      {"curl_free(3)", "a number alone is not a kernel"},
      {"helmholtz(gaussian(1), 1.5)", "helmholtz needs share from 0 to 1, got 1.5"},
      {"helmholtz(gaussian(1), shar=0.5)", "did you mean 'share'?"},
      {"decomposable(gaussian(1), identty)", "unknown output matrix 'identty' at position 27 (did you mean 'identity'?)"},
      {"decomposable(gaussian(1), 3)", "expected an output matrix"},
      {"decomposable(gaussian(1), [1,2])", "expected '[' to start a list"},
      {"decomposable(gaussian(1), [])", "the output matrix is empty"},
      {"decomposable(gaussian(1), [[1,2]])", "the output matrix must be square"},
      {"decomposable(gaussian(1), graph(edges.csv))", "expected a string in double quotes"},
      {"decomposable(gaussian(1), graph())", "graph needs file, which is missing"},
      {"decomposable(gaussian(1), graph(\"\"))", "name of an edge list"},
      {"decomposable(gaussian(1), graph(\"a\", 2))", "graph needs mix from 0 to 1, got 2"},
      {"decomposable(gaussian(1), graph(\"a))", "no closing double quote"},
      {"decomposable(gaussian(1), graph(\"a\\n\"))", "backslash"},
      {std::string("decomposable(gaussian(1), graph(\"a\0b\"))", 38), "zero byte"},
      {"decomposable(gaussian(1), quantile([]))", "at least one level"},
      {"decomposable(gaussian(1), quantile([0.5, 1]))", "levels between 0 and 1, got 1"},
      {"decomposable(gaussian(1), quantile([0.5], gamma=-1))", "gamma >= 0, got -1"},
      {"()", "found ')'"},
      {"(gaussian(1)", "expected ')' to close the parenthesis but the text ends"},
      {"gaussian{1}", "found '{'"},
      {"\"gaussian\"", "found '\"'"},
      {std::string("gaussian(1)\0", 12), "found '\\x00'"},
      {repeated("(", 100000), "nested parentheses"},
      {repeated("(", 65) + "linear()" + repeated(")", 65), "more than 64 nested parentheses"},
      {repeated("curl_free(", 100000), "takes a scalar kernel"},
      {repeated("[", 1000), "expected a kernel"},
      {repeated(" ", (1 << 20) + 1), "too long"},
  };
  EXPECT_GE(cases.size(), 40u);
  for (const Malformed& bad : cases) {
    try {
      const OperatorKernel kernel = parse_kernel(bad.text);
      ADD_FAILURE() << "accepted: " << bad.text.substr(0, 100);
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(message.find(bad.fragment), std::string::npos) << bad.text.substr(0, 100) << "\n  gave " << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
      EXPECT_TRUE(message.starts_with("kernel text")) << message;
      EXPECT_LT(message.size(), 300u);
    }
  }
}

TEST(KernelText, NestsUpToTheLimit) {
  const std::string deep = repeated("(2*", 64) + "linear()" + repeated(")", 64);
  expect_round_trip(parse_kernel(deep));
  // A scalar term that gains a decomposable(…) when printed still reads back.
  expect_round_trip(parse_kernel("(curl_free(gaussian(1)) + linear()) + " + deep + "*cauchy(1)"));
}

TEST(KernelText, LongTextsAreRead) {
  const std::string text = "linear()" + repeated(" + linear()", 90000);
  EXPECT_EQ(std::get<Sum>(samples::scalar(text).form).terms.size(), 90001u);
  const std::string components = "[1" + repeated(",1", 9999) + "]";
  expect_round_trip(parse_kernel("spectral_mixture(" + components + "," + components + "," + components + ")"));
}

TEST(KernelText, BrokenValuesAreNotPrinted) {
  EXPECT_THROW(to_string(Kernel{Scaled{2, {}}}), Error);
  EXPECT_THROW(to_string(Kernel{Sum{}}), Error);
  EXPECT_THROW(to_string(Kernel{Gaussian{{{std::numeric_limits<double>::quiet_NaN()}}}}), Error);
  EXPECT_THROW(to_string(OperatorKernel{}), Error);
}

}  // namespace
}  // namespace mercer
