"""The server's page in headless Chromium: page_suite.py PROGRAM [FILTER]. Exits with 77 if there is no browser here.

TANDEM_PICTURES=FOLDER keeps a picture of the page in both modes; TANDEM_AXE=axe.min.js checks it with axe."""
import json
import os
import pathlib
import shutil
import sys
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:  # another Python may have it: Debian's packages are those of Debian's own
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    print("SKIPPED: selenium is not installed (Debian: python3-selenium)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import Serving, Stage  # noqa: E402

HOSTILE = """<img src=x onerror="document.title='taken'"> <script>document.title='taken'</script>

[press](javascript:document.title='taken') ![x](https://example.org/x.png) <svg onload=alert(1)>

# <b>bold</b>

```html
</code></pre><script>document.title='taken'</script>
```

| <i>a</i> | b |
|---|---|
| <iframe srcdoc="<script>parent.document.title='taken'</script>"> | `<u>` |
"""


def browser(*arguments, dark=False, width=1280, height=900):
    options = webdriver.ChromeOptions()
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 f"--window-size={width},{height}", *arguments):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if dark:
        options.add_argument("--force-dark-mode")
    made = webdriver.Chrome(options=options)
    mode = "dark" if dark else "light"
    made.execute_cdp_cmd("Emulation.setEmulatedMedia",
                         {"features": [{"name": "prefers-color-scheme", "value": mode}]})
    made.set_script_timeout(60)
    return made


class Page(unittest.TestCase):
    program = ""

    @classmethod
    def setUpClass(cls):
        cls.serving = Serving(cls.program, "--chat-template", "chatml", "--device", "host", "--plan", "host-only",
                              "-c", "512")
        cls.serving.start()
        cls.browser = browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.serving.end()

    def setUp(self):
        self.stage = Stage(self.serving)

    def tearDown(self):
        self.browser.get("about:blank")
        self.stage.server.shutdown()
        self.stage.server.server_close()

    # Small words for what a user does and sees.
    def at(self, name):
        return self.browser.find_element(By.ID, name)

    def open(self, url, state="ready"):
        self.browser.get(url)
        self.wait_for(lambda: state in self.at("state").text)

    def open_anew(self, url):
        """Without conversations of earlier tests, and with short answers."""
        self.open(url)
        self.browser.execute_script("localStorage.clear(); localStorage.setItem('tandem.settings', '{\"max_tokens\": 60}');"
                                    "store.save = () => {};")
        self.open(url)

    def wait_for(self, condition, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            try:
                if condition():
                    return
            except Exception as error:  # an element that was just drawn anew
                if "stale" not in str(error).lower() and "no such element" not in str(error).lower():
                    raise
            time.sleep(0.05)
        self.fail("it did not happen; the page says: " + self.browser.find_element(By.TAG_NAME, "body").text[:1500])

    def send(self, words):
        self.at("words").send_keys(words)
        self.at("words").send_keys(Keys.ENTER)

    def messages(self):
        return [each.text for each in self.browser.find_elements(By.CSS_SELECTOR, ".message > .body")]

    def is_done(self):
        return self.at("stop").get_attribute("disabled") is not None

    def converse(self, words):
        before = len(self.messages())
        self.send(words)
        self.wait_for(lambda: len(self.messages()) == before + 2 and self.is_done())

    def press(self, words, index=-1):
        self.browser.find_elements(By.XPATH, f"//button[text()='{words}']")[index].click()

    def complaints(self):
        """Words of the browser's console about the page's own mistakes, and about what its policy forbade."""
        return [each["message"] for each in self.browser.get_log("browser")
                if "Content Security Policy" in each["message"] or "Uncaught" in each["message"]]

    # What holds.
    def test_shows_a_conversation_with_a_real_model(self):
        self.open_anew(self.serving.url)
        self.converse("Once upon a time")
        self.converse("And then?")
        messages = self.messages()
        self.assertEqual([messages[0], messages[2]], ["Once upon a time", "And then?"])
        self.assertTrue(messages[1].strip() and messages[3].strip())
        self.assertEqual(self.at("state").text, "the answer is complete")
        self.assertEqual(self.complaints(), [])

    def test_shows_passes_and_their_steps_while_an_answer_comes(self):
        self.open_anew(self.serving.url)
        self.converse("Once upon a time there was a little girl")
        self.wait_for(lambda: "Pass " in self.at("pass-title").text)
        self.assertIn("host-only", self.at("numbers").text)
        self.wait_for(lambda: "token" in self.at("texts").text)
        self.browser.execute_script("document.getElementById('list').open = true")
        self.assertIn("blk.0.attention", self.at("rows").text)
        self.at("lanes").click()
        self.assertEqual(self.at("hold").get_attribute("aria-pressed"), "true")
        title = self.at("pass-title").text
        self.at("before").click()
        self.at("after").click()
        self.wait_for(lambda: self.at("pass-title").text == title)

    def test_listens_to_no_passes_while_its_panel_is_closed(self):
        self.open(self.serving.url)
        self.wait_for(lambda: self.browser.execute_script("return panel.controller !== null"))
        self.browser.find_element(By.CSS_SELECTOR, "#panel > summary").click()
        self.wait_for(lambda: self.browser.execute_script("return panel.controller === null"))

    def test_streams_an_answer_piece_by_piece_and_stops_it(self):
        self.stage.pieces, self.stage.pause = ["word "] * 400, 0.05
        self.open(self.stage.url)
        self.send("go on")
        self.wait_for(lambda: 3 <= self.messages()[-1].count("word") < 300)
        self.at("stop").click()
        self.wait_for(self.is_done)
        count = self.messages()[-1].count("word")
        self.assertLess(count, 300)
        self.wait_for(lambda: "gone" in self.stage.asked)
        self.assertIn("Stopped.", self.browser.find_element(By.CSS_SELECTOR, ".message.assistant").text)
        time.sleep(0.3)
        self.assertEqual(self.messages()[-1].count("word"), count)

    def test_stops_at_the_key_escape(self):
        self.stage.pieces, self.stage.pause = ["word "] * 400, 0.05
        self.open(self.stage.url)
        self.send("go on")
        self.wait_for(lambda: "word" in self.messages()[-1])
        self.at("words").send_keys(Keys.ESCAPE)
        self.wait_for(self.is_done)

    def test_keeps_conversations_over_a_reload(self):
        self.open(self.stage.url)
        self.converse("first")
        self.press("New conversation")
        self.converse("second")
        self.browser.refresh()
        self.wait_for(lambda: "ready" in self.at("state").text)
        self.assertEqual(self.messages(), ["second", "Hello."])
        self.browser.find_element(By.XPATH, "//button[text()='first']").click()
        self.assertEqual(self.messages(), ["first", "Hello."])

    def test_keeps_the_part_of_an_answer_that_a_reload_cut(self):
        self.stage.pieces, self.stage.pause = ["word "] * 400, 0.05
        self.open(self.stage.url)
        self.send("go on")
        self.wait_for(lambda: self.messages()[-1].count("word") > 3)
        self.browser.refresh()
        self.wait_for(lambda: "ready" in self.at("state").text)
        self.assertIn("word word", self.messages()[-1])
        self.assertIn("Not finished.", self.at("messages").text)

    def test_tells_that_the_server_went_and_came_back(self):
        serving = Serving(self.program, "--chat-template", "chatml", "--device", "host", "--plan", "host-only")
        with serving:
            self.open(serving.url)
            self.converse("one")
        self.wait_for(lambda: "does not answer" in self.at("problem").text)
        with serving:
            self.wait_for(lambda: self.at("state").text == "ready" and not self.at("problem").is_displayed())
            self.converse("two")
            self.wait_for(lambda: self.browser.execute_script("return panel.controller !== null"))

    def test_asks_for_a_key_and_forgets_it_with_the_tab(self):
        self.stage.key = "right"
        self.open(self.stage.url, "a key is needed")
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("id"), "key")
        self.at("key").send_keys("wrong" + Keys.TAB)
        self.wait_for(lambda: "does not take this key" in self.at("problem").text)
        self.at("key").clear()
        self.at("key").send_keys("right" + Keys.TAB)
        self.wait_for(lambda: "ready" in self.at("state").text)
        self.converse("hi")
        self.assertNotIn("right", self.browser.execute_script("return JSON.stringify(localStorage)"))

    def test_shows_hostile_words_as_words(self):
        self.stage.pieces = [HOSTILE[i:i + 3] for i in range(0, len(HOSTILE), 3)]
        self.open(self.stage.url)
        self.converse(HOSTILE.replace("\n", " "))
        self.assertEqual(self.browser.title, "Tandem")
        for tag in ("img", "script", "iframe", "svg", "b", "i", "u"):
            self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, ".message " + tag), [], tag)
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, ".message a[href^=javascript]"), [])
        self.assertIn("<script>document.title='taken'</script>", self.messages()[-1])
        self.assertEqual(self.complaints(), [])

    def test_is_not_kept_busy_by_hostile_marks(self):
        deep = "".join(" " * i + "- x\n" for i in range(0, 400, 2))
        self.stage.pieces = ["[" * 60000 + "\n\n", "*a" * 30000 + "\n\n", "# " + " " * 60000 + "x\n\n", deep, "\n" + "`" * 5000,
                             "\n\na | b\n" + " " * 60000 + "x\n\n", "- " + " " * 60000 + "x\u2028\n\n"]
        self.open(self.stage.url)
        begin = time.time()
        self.converse("go")
        self.assertLess(time.time() - begin, 15)
        self.assertEqual(self.complaints(), [])

    def test_draws_markdown_as_elements(self):
        self.stage.pieces = ["## Head\n\nSome **strong** and *soft* `code`.\n\n- one\n- two\n  - inner\n\n1. first\n\n",
                             "> said\n\n```py\nx = 1 < 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
                             "See [this](https://example.org/)."]
        self.open(self.stage.url)
        self.converse("show")
        body = self.browser.find_elements(By.CSS_SELECTOR, ".message.assistant > .body")[0]
        found = {css: [each.text for each in body.find_elements(By.CSS_SELECTOR, css)]
                 for css in ("h5", "strong", "em", "p code", "ul ul li", "ol li", "blockquote", "pre", "td", "a")}
        self.assertEqual(found, {"h5": ["Head"], "strong": ["strong"], "em": ["soft"], "p code": ["code"],
                                 "ul ul li": ["inner"], "ol li": ["first"], "blockquote": ["said"], "pre": ["x = 1 < 2"],
                                 "td": ["1", "2"], "a": ["this"]})

    def test_edits_a_message_and_asks_again(self):
        self.open(self.stage.url)
        self.converse("frist")
        self.press("Edit")
        words = self.browser.find_element(By.CSS_SELECTOR, ".message textarea")
        words.clear()
        words.send_keys("first")
        self.stage.pieces = ["Better."]
        self.press("Send edited")
        self.wait_for(lambda: self.messages() == ["first", "Better."] and self.is_done())
        self.stage.pieces = ["Best."]
        self.press("Again")
        self.wait_for(lambda: self.messages() == ["first", "Best."] and self.is_done())
        self.assertEqual([m["content"] for m in self.stage.asked[-1]["messages"]], ["first"])

    def test_sends_the_system_text_and_the_sampling_that_were_set(self):
        self.open(self.stage.url)
        self.browser.find_element(By.CSS_SELECTOR, "#settings > summary").click()
        for name, value in (("system", "Be brief."), ("temperature", "0.5"), ("top_k", "3"), ("max_tokens", "9")):
            self.at(name).send_keys(value + Keys.TAB)
        self.converse("hi")
        asked = self.stage.asked[0]
        self.assertEqual(asked["messages"], [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}])
        self.assertEqual((asked["temperature"], asked["top_k"], asked["max_tokens"]), (0.5, 3, 9))
        self.assertNotIn("top_p", asked)
        self.browser.find_element(By.CSS_SELECTOR, "#settings").screenshot_as_png
        for name in ("system", "temperature", "top_k", "max_tokens"):
            self.at(name).clear()
            self.at(name).send_keys(Keys.TAB)

    def test_shows_what_the_server_refuses(self):
        self.stage.failure = (400, "The prompt has 300 tokens.")
        self.open(self.stage.url)
        self.converse("long")
        self.assertIn("The prompt has 300 tokens.", self.at("problem").text)
        self.assertIn("Refused: The prompt has 300 tokens.", self.at("messages").text)

    def test_survives_damaged_storage(self):
        self.open(self.stage.url)
        self.browser.execute_script("localStorage.setItem('tandem.conversations', '{broken'); window.onpagehide = null;"
                                    "store.save = () => {};")
        self.browser.refresh()
        self.wait_for(lambda: "ready" in self.at("state").text)
        self.converse("hi")
        self.assertEqual(self.browser.execute_script("return localStorage.getItem('tandem.conversations.damaged')"), "{broken")

    def test_exports_what_was_said(self):
        self.open(self.stage.url)
        self.converse("hi")
        text = self.browser.execute_script("return markdownOf(store.current)")
        self.assertEqual(text, "# hi\n\n## You\n\nhi\n\n## Model\n\nHello.\n")

    def test_is_used_by_keyboard_alone(self):
        self.open(self.stage.url)
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("id"), "words")
        self.browser.switch_to.active_element.send_keys("hi" + Keys.ENTER)
        self.wait_for(lambda: self.messages() == ["hi", "Hello."] and self.is_done())
        seen = set()
        for _ in range(60):
            self.browser.switch_to.active_element.send_keys(Keys.TAB)
            focused = self.browser.switch_to.active_element
            seen.add(focused.get_attribute("id") or focused.text or focused.tag_name)
        for name in ("new", "hi", "Edit", "Again", "words", "window", "hold", "before", "after", "export-text"):
            self.assertIn(name, seen)

    def test_fits_from_a_small_telephone_to_a_wall(self):
        self.open(self.stage.url)
        self.stage.pieces = ["```\n" + "x" * 500 + "\n```\n\n" + "y" * 500]
        self.converse("z" * 300)
        for width, height in ((360, 640), (768, 1024), (1280, 800), (3840, 2160)):
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                         {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
            time.sleep(0.2)
            wide = self.browser.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(wide, width, f"nothing stands beyond the edge at {width}")
            self.assertTrue(self.at("send").is_displayed())
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_has_no_flaw_that_axe_knows(self):
        axe = os.environ.get("TANDEM_AXE")
        if not axe:
            self.skipTest("axe is fetched by ./dev clients")
        for dark in (False, True):
            chrome = browser(dark=dark)
            try:
                self.browser, kept = chrome, self.browser
                self.open_anew(self.serving.url)
                self.converse("Once upon a time")
                self.browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
                self.browser.execute_script(pathlib.Path(axe).read_text())
                found = self.browser.execute_async_script("axe.run().then(arguments[0], (e) => arguments[0]({violations: [String(e)]}))")
                self.assertEqual([json.dumps(each, indent=1)[:1500] for each in found["violations"]], [])
            finally:
                self.browser = kept
                chrome.quit()


def take_pictures(program, folder):
    """The page with a real model, in both modes, for a person to look at."""
    model = os.environ.get("TANDEM_PICTURES_MODEL")
    for mode in ("light", "dark"):
        with Serving(program, *os.environ.get("TANDEM_PICTURES_FLAGS", "").split(), model=model) as serving:
            chrome = browser(dark=mode == "dark", width=1440, height=900)
            case = Page("open")
            case.browser = chrome
            case.open(serving.url)
            case.send("Name three rivers of France, and write a function in Python that adds two numbers.")
            case.wait_for(lambda: case.is_done() or len(case.messages()[-1]) > 700, 60)
            chrome.save_screenshot(f"{folder}/page-{mode}.png")
            chrome.quit()


if __name__ == "__main__":
    if not shutil.which("chromedriver") or not (shutil.which("chromium") or shutil.which("google-chrome")):
        print("SKIPPED: there is no browser with its driver (Debian: chromium, chromium-driver)")
        sys.exit(77)
    Page.program = sys.argv[1]
    if os.environ.get("TANDEM_PICTURES"):
        take_pictures(sys.argv[1], os.environ["TANDEM_PICTURES"])
        sys.exit(0)
    unittest.main(argv=[sys.argv[0], "-v", *(["-k", sys.argv[2]] if len(sys.argv) > 2 else [])])
