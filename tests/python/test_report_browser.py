"""Reports in a real browser without a window: nothing in the console, every picture visible, no sideways scrolling on a phone."""

import shutil

import numpy as np
import pytest

import mercer
from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor, SpectralMixtureGP
from mercer.kernels import CurlFree, Gaussian

webdriver = pytest.importorskip("selenium.webdriver")

PHONE, DESKTOP = 360, 1280


@pytest.fixture(scope="module")
def browser():
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("chromium and chromedriver are not installed (tools/setup.sh test)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()


def long_named(X, y, classes):
    """Names and classes as long as people make them."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a_very_long_name_of_a_column_that_goes_on_without_a_space_anywhere", "short"])
    labels = np.array([f"class number {k} of the collection <b>" for k in range(classes)])[
        (6 * (y - y.min())).astype(int) % classes
    ]
    return KernelClassifier(features=20, loss="multinomial").fit(frame, labels), frame, labels


def pages():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (150, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=150)
    field = np.column_stack([-2 * X[:, 0], -X[:, 1]])
    t = np.datetime64("2020-01-01") + np.arange(150)
    wide = np.hstack([X, rng.normal(size=(150, 60))])
    return {
        "regressor": lambda: (KernelRegressor(features=30).fit(wide, np.column_stack([y] * 9)), wide, np.column_stack([y] * 9)),
        "field": lambda: (KernelRegressor(CurlFree(Gaussian(1.0)), features=30).fit(X, field), X, field),
        "quantiles": lambda: (KernelQuantileRegressor([0.1, 0.5, 0.9], features=30).fit(X, y), X, y),
        "series": lambda: (SpectralMixtureGP(components=3, points=30, steps=20).fit(t, y), t, y),
        "4 classes": lambda: long_named(X, y, 4),
        "9 classes": lambda: long_named(X, y, 9),
        "15 classes": lambda: long_named(X, y, 15),
    }


@pytest.fixture(scope="module", params=list(pages()))
def address(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    mercer.report(*pages()[request.param](), path)
    return path.as_uri()


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_in_a_browser(browser, address, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": width == PHONE}
    )
    browser.get_log("performance")
    browser.get(address)
    assert browser.get_log("browser") == []
    asked = [entry["message"] for entry in browser.get_log("performance") if "Network.requestWillBeSent" in entry["message"]]
    assert all(address in message or '"url":"data:' in message for message in asked)

    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    sticking_out = browser.execute_script(
        "return [...document.body.querySelectorAll('*')].filter(e => !e.closest('thead, svg'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 || e.scrollWidth > innerWidth)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert sticking_out == []

    images = browser.execute_script(
        "return [...document.images].map(i => { const b = i.getBoundingClientRect();"
        "return [i.complete, i.naturalWidth, b.width, b.height, b.left] })"
    )
    assert len(images) >= 2
    for complete, natural, wide, high, left in images:
        assert complete and natural > 0 and left >= 0
        assert 200 <= wide <= width and high >= 150
    browser.execute_script("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    drawings = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect()).map(b => [b.width, b.height])"
    )
    assert all(wide > 20 and high > 5 for wide, high in drawings)

    smallest = browser.execute_script(
        "return Math.min(...[...document.querySelectorAll('p, li, td, th, dd, dt, code, figcaption, h1, h2, h3')]"
        ".filter(e => e.getClientRects().length).map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 11
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert browser.title.startswith("Report on ")
