#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <array>
#include <cmath>
#include <limits>

#include "kernel/evaluate.hpp"
#include "kernel/matern.hpp"
#include "unit/kernel/kernel_reference.hpp"
#include "unit/kernel/kernel_samples.hpp"

namespace mercer {
namespace {

struct MaternCase {
  double nu, s, value, first, second;
};

// 2^{1-nu}/Gamma(nu) (2 nu s)^{nu/2} K_nu(sqrt(2 nu s)) and its first two derivatives in s, by mpmath's besselk at 70 digits
// and five-point differences with step 1e-12 s, at the doubles written here.
constexpr std::array matern_cases = std::to_array<MaternCase>({
    {0.3, 1e-6, 0.98702542372000531493, -3892.2243810734781418, 2724705120.5649928666},
    {0.3, 0.04, 0.6954594106881253624, -2.1694685627630765997, 40.573672638434310265},
    {0.3, 1, 0.30767514823308958406, -0.14190886655231236856, 0.14548747882158209547},
    {0.3, 6.25, 0.08312157986973594599, -0.01401611824204435252, 0.003564723159982630137},
    {0.3, 49, 0.0021150495478132393767, -0.00012106658658031603145, 8.2041641383307575127e-6},
    {0.5, 1e-6, 0.99900049983337499169, -499.50024991668750715, 249999875.08330210863},
    {0.5, 0.04, 0.81873075307798185697, -2.0468268826949546211, 30.702403240424318731},
    {0.5, 1, 0.3678794411714423216, -0.1839397205857211608, 0.1839397205857211608},
    {0.5, 6.25, 0.08208499862389879517, -0.016416999724779759034, 0.0045967599229383325295},
    {0.5, 49, 0.000911881965554516208, -0.000065134426111036872, 5.317096009064234449e-6},
    {0.7, 1e-6, 0.99990154461157192861, -68.568792205904860645, 20920603.202385512338},
    {0.7, 0.04, 0.8796675426363120118, -1.7819514263769327898, 21.061726695894727078},
    {0.7, 1, 0.40618184037575693298, -0.21172133338643091225, 0.2056800441474442006},
    {0.7, 6.25, 0.079419671220772955325, -0.017720708513528577938, 0.005298095597012657083},
    {0.7, 49, 0.00046516728063075875918, -0.000038426139411175923091, 3.5578855111044557963e-6},
    {1, 1e-6, 0.99999282288481386095, -6.6771170429176901187, 499996.4114424069531},
    {1, 0.04, 0.92379258011193674032, -1.4266603489215715203, 11.547407251399209014},
    {1, 1, 0.44434252363223604134, -0.23914221072608115546, 0.22217126181611802067},
    {1, 6.25, 0.075436809908912122227, -0.018824796885255476394, 0.0060349447927129697782},
    {1, 49, 0.00020523725312105902545, -0.000019757193550439813542, 2.0942576849087655658e-6},
    {1.5, 1e-6, 0.999998501730926327, -1.4974041724901708836, 1296.7900531093034851},
    {1.5, 0.04, 0.95221136147723486325, -1.0608335283283873393, 4.5935439235933118486},
    {1.5, 1, 0.4833577245965076506, -0.26538180947664630688, 0.22982738870905758451},
    {1.5, 6.25, 0.070175786430933425874, -0.019748812602909703765, 0.0068411893634792348036},
    {1.5, 49, 0.000071209384830473294622, -8.1386149590848251765e-6, 1.0068924723125011914e-6},
    {2, 1e-6, 0.9999990000070805422, -0.99998633891319129785, 12.66109388924435186},
    {2, 0.04, 0.96290410065502970366, -0.87374176989307495003, 2.2290582690488687942},
    {2, 1, 0.50751950913211172587, -0.27973176363304485457, 0.22778774549906687131},
    {2, 6.25, 0.066361796402793249476, -0.020223067227260821042, 0.0073821966680851885495},
    {2, 49, 0.000031063115189836224464, -4.0016811148163495285e-6, 5.5227416479632397826e-7},
    {2.5, 1e-6, 0.99999916666770709194, -0.83333125310304735419, 2.0786800628336488127},
    {2.5, 0.04, 0.96798611996407139442, -0.7711324711277318781, 1.3320985815872856192},
    {2.5, 1, 0.52399410883182031059, -0.28822019394264782689, 0.2226623451258036479},
    {2.5, 6.25, 0.06351021454894374637, -0.020508571377759216668, 0.0077799857791265372735},
    {2.5, 49, 0.000015662251579605203762, -2.2106178869168939045e-6, 3.318752580434931397e-7},
    {3.7, 1e-6, 0.99999931481518763584, -0.68518443954346882635, 0.74564073126224951776},
    {3.7, 0.04, 0.97317078957700824008, -0.65669459591526876417, 0.68226379365598875233},
    {3.7, 1, 0.54795693911580489661, -0.29799101482262624116, 0.20914459734314820333},
    {3.7, 6.25, 0.05893991767028261825, -0.020880934689439531153, 0.0084256518445657777883},
    {3.7, 49, 4.3584258948219961379e-6, -7.1936726775450640799e-7, 1.2491420984660256761e-7},
    {10, 1e-6, 0.99999944444461805551, -0.55555520833345734124, 0.34722197420645254626},
    {10, 0.04, 0.97805293192385448629, -0.54186289660735362666, 0.33746475382724478034},
    {10, 1, 0.58390113321725756274, -0.30480562938848667524, 0.17625500158990773656},
    {10, 6.25, 0.0506932236962315451, -0.021425064648606717808, 0.0097024858629915624361},
    {10, 49, 1.3115191378621001475e-7, -3.1202388681701048596e-8, 7.6517973631783803342e-9},
    {29.75, 1e-6, 0.99999948260883432234, -0.51739102700751933581, 0.27734022964017838027},
    {29.75, 0.04, 0.97952458455599464379, -0.50642012198054546459, 0.27124220824345547786},
    {29.75, 1, 0.59888365470690268865, -0.30429293045246696575, 0.15997261325675222833},
    {29.75, 6.25, 0.046416598531901967254, -0.021737341433999396166, 0.010479733909529459699},
    {29.75, 49, 3.4094252874226254149e-9, -1.1231097649639385804e-9, 3.7603664097343507879e-10},
    {60, 1e-6, 0.99999949152555523084, -0.50847431326716447752, 0.26300395275158280344},
    {60, 0.04, 0.97986995158340526156, -0.49806436449453978824, 0.25752605810775850582},
    {60, 1, 0.60273852639840761105, -0.30383727032243235108, 0.15575684292871961771},
    {60, 6.25, 0.045195188267152767062, -0.021844709612996294673, 0.010722844935648260182},
    {60, 49, 5.3726241235030382102e-10, -2.065506576373431774e-10, 8.0232317753180962529e-11},
});

TEST(KernelValue, MaternAndItsDerivativesMatchFiftyDigits) {
  for (const MaternCase& c : matern_cases) {
    EXPECT_NEAR(matern_value(c.nu, c.s), c.value, 1e-13 * c.value) << c.nu << " " << c.s;
    EXPECT_NEAR(matern_first(c.nu, c.s), c.first, -1e-13 * c.first) << c.nu << " " << c.s;
    EXPECT_NEAR(matern_second(c.nu, c.s), c.second, 1e-13 * c.second) << c.nu << " " << c.s;
    const double l = 0.7;  // and through the kernel
    const Kernel kernel{Matern{{{l}}, c.nu}};
    const double x = l * std::sqrt(c.s);
    const double zero = 0;
    EXPECT_NEAR(value(kernel, {&x, 1}, {&zero, 1}), c.value, 1e-12 * c.value);
  }
}

TEST(KernelValue, MaternLimits) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double nu : {0.01, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.7, 10.0, 29.999, 30.0, 60.0, 1e3, 1e6, 1e300}) {
    EXPECT_EQ(matern_value(nu, 0), 1) << nu;
    // The Student law has variance nu/(nu - 1) per direction, and 2 g'(0) = -variance.
    EXPECT_DOUBLE_EQ(matern_first(nu, 0), nu > 1 ? -nu / (2 * (nu - 1)) : -infinity);
    EXPECT_DOUBLE_EQ(matern_second(nu, 0), nu > 2 ? nu / (nu - 1) * (nu / (nu - 2)) / 4 : infinity);
    for (const double s : {1e6, 1e12, 1e40, 1e300, infinity}) {
      EXPECT_GE(matern_value(nu, s), 0) << nu << " " << s;
      EXPECT_LT(matern_value(nu, s), 1e-60) << nu << " " << s;
      EXPECT_LE(matern_first(nu, s), 0);
      EXPECT_GE(matern_second(nu, s), 0);
    }
    double before = 1;
    for (double s = 1e-300; s < 1e5; s *= 1.7) {
      const double now = matern_value(nu, s);
      EXPECT_TRUE(std::isfinite(now) && now <= before * (1 + 1e-14)) << nu << " " << s;
      before = now;
    }
  }
  // nu -> infinity: exp(-s/2)(1 + (s²/8 - s/2)/nu + O(s⁴/nu²)).
  for (const double s : {1e-3, 0.5, 3.0, 20.0}) {
    const double expected = std::exp(-s / 2) * (1 + (s * s / 8 - s / 2) / 1e9);
    EXPECT_NEAR(matern_value(1e9, s), expected, 2e-14 * expected) << s;
  }
}

TEST(KernelValue, MaternIsContinuousInNu) {
  for (const double nu : {0.5, 1.0, 1.5, 2.0, 2.5, 10.0, 30.0, 31.0}) {
    for (const double s : {1e-9, 0.01, 1.0, 10.0, 40.0}) {
      const double step = 1e-9;
      EXPECT_NEAR(matern_value(nu - step, s), matern_value(nu + step, s), 1e-7 * matern_value(nu, s)) << nu << " " << s;
      EXPECT_NEAR(matern_value(nu, s), (matern_value(nu - step, s) + matern_value(nu + step, s)) / 2,
                  5e-14 * matern_value(nu, s))
          << nu << " " << s;
    }
  }
}

TEST(KernelValue, KernelsMatchFiftyDigits) {
  const std::vector<double> x = {0.3, -0.7, 1.1};
  const std::vector<double> z = {-0.2, 0.4, 0.9};
  const auto same = [&](const char* text, double expected) {
    EXPECT_NEAR(value(samples::scalar(text), x, z), expected, 1e-14 * std::abs(expected)) << text;
  };
  // mpmath, 50 digits, straight from the definitions at these doubles.
  same("gaussian([0.5, 1, 2])", 0.32955896107518907297);
  same("gaussian(0.8)", 0.30978554847668167944);
  same("laplacian([0.5, 1, 2])", 0.1108031583623338821);
  same("laplacian(1.4)", 0.27645304662956434582);
  same("cauchy([0.5, 1, 2])", 0.22400430088257694895);
  same("rational_quadratic([0.5, 1, 2], alpha=1.7)", 0.42556158966194301601);
  same("rational_quadratic([0.5, 1, 2], alpha=1e9)", 0.32955896127821387085);
  same("rational_quadratic([0.5, 1, 2], alpha=0.01)", 0.9539109185144700093);
  same("spectral_mixture([0.7, 1.9], [[0.1, 0, -0.3], [0.5, 0.2, 0]], [[0.1, 0.2, 0.05], [0.3, 0, 0.1]])",
       1.4429151595781616068);
  same("linear()", 0.65000000000000010547);
  same("polynomial(degree=3, offset=0.5)", 1.5208750000000004185);
  same("polynomial(degree=7, offset=2)", 917.74307799765650569);
  same("gaussian([0.5, 1, 2])*matern(1, nu=2.2) + 3*linear()", 2.0807163684864250818);
}

TEST(KernelValue, MatchesTheObviousLongDoubleCode) {
  std::mt19937_64 engine(3);
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel kernel = samples::scalar(text);
    for (int trial = 0; trial < 20; ++trial) {
      const auto x = samples::normals(engine, 3);
      const auto z = samples::normals(engine, 3);
      const auto expected = static_cast<double>(reference::value(kernel, reference::widen(x), reference::widen(z)));
      EXPECT_NEAR(value(kernel, x, z), expected, 1e-12 * std::max(1.0, std::abs(expected))) << text;
      EXPECT_EQ(value(kernel, x, z), value(kernel, z, x)) << text;
    }
  }
}

TEST(KernelValue, ExtremeInputsStayFinite) {
  for (const std::string& text : samples::scalar_texts()) {
    const Kernel kernel = samples::scalar(text);
    if (!is_shift_invariant(kernel)) continue;
    for (const double size : {1e-300, 1e-160, 1e-20, 1e20, 1e150, 1e200}) {
      const std::vector<double> x = {size, -size / 2, size / 3};
      const std::vector<double> z = {0, 0, 0};
      std::vector<double> gradient(3);
      std::vector<double> slopes(parameters(kernel).size());
      EXPECT_TRUE(std::isfinite(value(kernel, x, z))) << text << " " << size;
      input_gradient(kernel, x, z, gradient);
      parameter_gradient(kernel, x, z, slopes);
      for (const double g : gradient) EXPECT_TRUE(std::isfinite(g)) << text << " " << size;
      for (const double g : slopes) EXPECT_TRUE(std::isfinite(g)) << text << " " << size;
      if (!has_second_moment(kernel)) continue;
      Matrix<double> hessian(3, 3);
      shift_hessian(kernel, x, z, hessian);
      for (const double h : hessian.values()) EXPECT_TRUE(std::isfinite(h)) << text << " " << size;
    }
  }
}

TEST(KernelValue, KnowsShiftInvarianceAndMoments) {
  const auto shift = [](const char* text) { return is_shift_invariant(samples::scalar(text)); };
  const auto moment = [](const char* text) { return has_second_moment(samples::scalar(text)); };
  EXPECT_TRUE(shift("2*gaussian(1)*laplacian(1) + cauchy(1)"));
  EXPECT_FALSE(shift("gaussian(1)*linear()"));
  EXPECT_FALSE(shift("gaussian(1) + 2*polynomial()"));
  EXPECT_TRUE(moment("gaussian(1)*cauchy(1) + 3*rational_quadratic(1, alpha=0.1) + matern(1, nu=1.01)"));
  EXPECT_TRUE(moment("spectral_mixture([1],[0.3],[0.2])"));
  EXPECT_FALSE(moment("matern(1, nu=1)"));
  EXPECT_FALSE(moment("laplacian(1)*gaussian(1)"));
  EXPECT_FALSE(moment("gaussian(1) + laplacian(1)"));
  EXPECT_FALSE(moment("linear()"));
}

}  // namespace
}  // namespace mercer
