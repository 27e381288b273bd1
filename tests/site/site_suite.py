"""The whole site, made and looked at: site_suite.py ROOT PROGRAM FOLDER. Ends with 77 where mkdocs is not installed.

With a browser (selenium, Chromium) it looks at pages on a phone's and a desk's width, in both modes, and searches.
TANDEM_AXE=axe.min.js checks them with axe."""

import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

ROOT, PROGRAM, FOLDER = sys.argv[1:4]
PAGES = ("index.html", "heterollm.html", "measured/drafts.html", "reference/run.html", "papers.html", "start.html")

if not shutil.which("mkdocs") or not os.path.isdir("/usr/share/mkdocs/themes/material"):
    print("SKIPPED: mkdocs and mkdocs-material are not installed (./dev site installs them)")
    sys.exit(77)

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    webdriver = None


def setUpModule():
    subprocess.run([sys.executable, "-B", f"{ROOT}/site/pages.py", ROOT, PROGRAM, FOLDER], check=True)
    subprocess.run(["mkdocs", "build", "--strict", "--quiet"], check=True, cwd=FOLDER)


class Files(unittest.TestCase):
    def texts(self):
        for path in sorted(pathlib.Path(FOLDER, "html").rglob("*.html")):
            yield path, path.read_text(encoding="utf-8")

    def test_load_nothing_from_elsewhere(self):
        for path, text in self.texts():
            loads = re.findall(r"<(?:script|img|iframe|source)[^>]* src=\"?https?:|<link[^>]* href=\"?https?:|@import", text)
            self.assertEqual(loads, [], path)

    def test_lead_to_files_and_headings_that_are_there(self):
        known = {}
        for path, text in self.texts():
            known[path] = set(re.findall(r" id=\"?([^\" >]+)", text))
        for path, text in self.texts():
            for target in re.findall(r"<a [^>]*href=\"?([^\" >]+)", text):
                if re.match(r"[a-z]+:", target) or path.name == "404.html":
                    continue
                file, _, heading = target.partition("#")
                where = (path.parent / file).resolve() if file else path
                self.assertTrue(where.exists() or where == path, f"{path}: {target}")
                if heading and where in known and not heading.startswith("__"):
                    self.assertIn(heading, known[where], f"{path}: {target}")

    def test_have_a_page_for_each_command(self):
        listed = subprocess.run([PROGRAM, "--help"], check=True, capture_output=True, text=True).stdout
        commands = re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}\S", listed)
        self.assertGreater(len(commands), 20)
        for command in commands:
            self.assertTrue(os.path.exists(f"{FOLDER}/html/reference/{command}.html"), command)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(webdriver and shutil.which("chromedriver"), "there is no browser with a driver")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        handler = functools.partial(Quiet, directory=f"{FOLDER}/html")
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        options = webdriver.ChromeOptions()
        for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(each)
        cls.browser = webdriver.Chrome(options=options)
        cls.browser.set_script_timeout(120)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.shutdown()
        cls.server.server_close()

    def open(self, page, width=1400, mode="light"):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": [{"name": "prefers-color-scheme", "value": mode}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.browser.get(f"http://127.0.0.1:{self.server.server_port}/{page}")

    def views(self):
        """Each page as a phone and a desk show it, one of them in the dark."""
        for i, page in enumerate(PAGES):
            for width, mode in ((360, ("light", "dark")[i % 2]), (1400, ("dark", "light")[i % 2])):
                with self.subTest(page=page, width=width, mode=mode):
                    self.open(page, width, mode)
                    yield width

    def test_shows_pages_as_wide_as_the_screen(self):
        for width in self.views():
            self.assertEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), width)

    @unittest.skipUnless(os.environ.get("TANDEM_AXE"), "axe is not here (./dev clients fetches it)")
    def test_finds_no_violation_with_axe(self):
        axe = pathlib.Path(os.environ["TANDEM_AXE"]).read_text(encoding="utf-8")
        for _ in self.views():
            time.sleep(0.5)  # colours of the theme change slowly
            self.browser.execute_script(axe)
            found = self.browser.execute_async_script(
                "axe.run().then(r => arguments[arguments.length - 1](r.violations.map(v => v.id + ' ' + v.nodes[0].html)))")
            self.assertEqual(found, [])

    def test_finds_words_by_the_search(self):
        self.open("index.html")
        self.browser.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys("row-cutting")
        end = time.time() + 20
        found = ""
        while "HeteroLLM" not in found and time.time() < end:
            time.sleep(0.1)
            found = self.browser.find_element(By.CSS_SELECTOR, ".md-search-result__list").get_attribute("textContent")
        self.assertIn("HeteroLLM", found)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
