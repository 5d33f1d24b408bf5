"""The built pages, as a reader gets them: from disk, network off, on a desk and on a phone."""

import os
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.browser

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
PAGES = sorted(path for path in HTML.rglob("*.html") if "_static" not in path.parts)
WIDTHS = (1280, 390)
ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Formulas still written as TeX: text a reader sees, outside code, and errors inside MathJax.
RAW_TEX = r"""() => {
  const raw = /\\\(|\\\[|\$\$|\\[a-zA-Z]{2,}|\\begin\b/;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (parent.closest('code, pre, script, style, noscript, kbd, mjx-container')) continue;
    if (raw.test(node.data)) found.push(node.data.trim().slice(0, 120));
  }
  for (const item of window.MathJax?.startup?.document?.math ?? []) {
    const mml = MathJax.startup.toMML(item.root);
    // An unknown macro is drawn as red text by MathJax's `noundefined`.
    if (/<merror|mathcolor="red"|<mtext[^>]*>\\/.test(mml)) found.push(item.math.slice(0, 120));
  }
  return found;
}"""

# Boxes of formulas that MathJax has not filled.
UNRENDERED = """() => [...document.querySelectorAll('.math')]
  .filter(node => !node.closest('code, pre') && !node.querySelector('mjx-container'))
  .map(node => node.textContent.slice(0, 120))"""

BAD_IMAGES = """() => [...document.images].flatMap(image => [
  ...(image.complete && image.naturalWidth > 0 ? [] : ['is broken: ' + image.src]),
  ...(image.getAttribute('alt')?.trim() ? [] : ['has no alt text: ' + image.src]),
])"""

# The elements that make a page scroll sideways, for the message: those too far right that no
# box between them and the page scrolls or hides.
WIDE = """() => {
  const held = node => {
    for (let box = node; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.position === 'fixed') return true;
      if (box !== node && style.overflowX !== 'visible') return true;
    }
    return false;
  };
  return [...document.querySelectorAll('body *')]
    .filter(node => node.getBoundingClientRect().right > innerWidth + 1 && !held(node))
    .slice(-3).map(node => node.outerHTML.slice(0, 120));
}"""


# On a desk: tables and outputs of which more than a letter is out of sight.
CUT = """() => [...document.querySelectorAll(
    '.pst-scrollable-table-container, .cell_output pre, #scoreboard td p')]
  .filter(node => node.scrollWidth > node.clientWidth + 12)
  .map(node => node.innerText.trim().slice(0, 60))"""


def browser_path():
    """Any Chromium or Chrome: CHROME names one, then PATH, then where installers put it."""
    if os.environ.get("CHROME"):
        return os.environ["CHROME"]
    found = next(filter(None, map(shutil.which, ON_PATH)), None)
    return found or next((path for path in ELSEWHERE if Path(path).is_file()), None)


@pytest.fixture(scope="module")
def browser():
    path = browser_path()
    if path is None:
        pytest.skip("no Chromium or Chrome found on PATH; install one or set CHROME to its path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # playwright gives each launch a fresh profile folder.
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


def is_ours(message):
    """Whether a console message is an error of the book.

    The theme preloads its icon font with `crossorigin`, which Chromium refuses for a file from
    disk and reports twice; the same font then loads by its style sheet.
    """
    preload = message.text.startswith("Access to font at 'file:")
    refused = message.location["url"].endswith((".woff2", ".woff", ".ttf"))
    refused &= message.text == "Failed to load resource: net::ERR_FAILED"
    return message.type == "error" and not preload and not refused


def is_thebe(error):
    """jupyter-book writes the settings of thebe, a tool not used here, twice into each page."""
    return str(error) == "Identifier 'THEBE_JS_URL' has already been declared"


class Page(HTMLParser):
    """Ids, internal links and the redirect of one HTML file."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.redirects = set(), [], False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[key] for key in ("id", "name") if values.get(key)}
        self.redirects |= (values.get("http-equiv") or "").lower() == "refresh"
        self.links += [values[key] for key in ("href", "src") if values.get(key)]
        if (values.get("http-equiv") or "").lower() == "refresh":
            self.links.append(values["content"].split("url=")[-1].strip("'\""))


parsed = cache(Page)


def page_name(path):
    return str(path.relative_to(HTML))


def test_there_are_pages():
    """The other tests say nothing where nothing was built."""
    assert (HTML / "index.html").is_file(), "there is no _build/html: run `make book` first"
    assert any(not parsed(path).redirects for path in PAGES)


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_links_resolve(path):
    broken = []
    for link in parsed(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        assert not parts.path.startswith("/"), f"{link} breaks under a sub-path: make it relative"
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        anchor = unquote(parts.fragment)
        if not target.exists():
            broken.append(f"{link}: no such file")
        elif anchor and target.suffix == ".html" and anchor not in parsed(target).ids:
            broken.append(f"{link}: no such anchor")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", [p for p in PAGES if not parsed(p).redirects], ids=page_name)
def test_page_in_a_browser(browser, path, width):
    context = browser.new_context(viewport={"width": width, "height": 844}, offline=True)
    requests, errors = [], []

    def only_files(route):
        url = route.request.url
        if urlsplit(url).scheme in ("file", "data", "blob"):
            route.continue_()
        else:
            requests.append(url)
            route.abort()

    try:
        context.route("**/*", only_files)
        page = context.new_page()
        page.on("console", lambda m: errors.append(m.text) if is_ours(m) else None)
        page.on("pageerror", lambda e: None if is_thebe(e) else errors.append(str(e)))
        page.goto(path.as_uri(), wait_until="load")
        page.wait_for_function("!window.MathJax || window.MathJax.startup?.promise")
        page.evaluate("window.MathJax ? MathJax.startup.promise.then(() => true) : true")

        problems = [f"asks the network for {url}" for url in requests]
        problems += [f"console error: {text}" for text in errors]
        problems += [f"formula not rendered: {text}" for text in page.evaluate(UNRENDERED)]
        problems += [f"raw TeX: {text}" for text in page.evaluate(RAW_TEX)]
        problems += [f"image {text}" for text in page.evaluate(BAD_IMAGES)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width + 1:
            problems.append(f"scrolls sideways, {wide} px wide, by {page.evaluate(WIDE)}")
        if width == max(WIDTHS):
            problems += [f"out of sight on the right: {text}" for text in page.evaluate(CUT)]
        assert not problems, f"{page_name(path)} at {width} px:\n" + "\n".join(problems)
    finally:
        context.close()


def test_the_scoreboard_filters_its_rows_and_hides_empty_parts(browser):
    page = browser.new_page()
    try:
        page.goto((HTML / "book/reference/scoreboard.html").as_uri())
        bar = page.locator(".scoreboard-bar")
        rows = page.locator("#scoreboard table.table tbody tr:visible")
        everything = rows.count()
        bar.get_by_role("combobox", name="Verdict").select_option("false as printed")
        false = rows.count()
        assert 0 < false < everything
        assert not page.locator("#experiments").is_visible()
        bar.get_by_role("searchbox").fill("theorem 2, the other half")
        assert rows.count() == 1
        assert bar.get_by_role("status").text_content() == f"1 of {everything} rows"
        bar.get_by_role("searchbox").fill("")
        bar.get_by_role("combobox", name="Verdict").select_option("all")
        assert rows.count() == everything
    finally:
        page.close()
