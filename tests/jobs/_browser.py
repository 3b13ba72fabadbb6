"""A page in headless Chromium, driven over a pipe by the DevTools protocol, and the questions that are asked of it."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import NamedTuple

import pytest

CHECK = r"""
(() => {
  const seen = [];
  const visible = e => e.checkVisibility({checkVisibilityCSS: true, checkOpacity: true});
  function clip(rect, element) {
    let r = {left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom};
    for (let e = element; e && e !== document.body; e = e.parentElement) {
      if (getComputedStyle(e).overflowX === "visible" || e.tagName === "svg") continue;
      const b = e.getBoundingClientRect();
      r = {left: Math.max(r.left, b.left), right: Math.min(r.right, b.right),
           top: Math.max(r.top, b.top), bottom: Math.min(r.bottom, b.bottom)};
    }
    return r;
  }
  function add(rect, element, text, owner) {
    const r = clip(rect, element);
    if (r.right - r.left > 0.5 && r.bottom - r.top > 0.5) seen.push({r, text: text.trim().slice(0, 40), owner});
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest("svg, style, script") || !visible(e)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) add(rect, e, node.data, node);
  }
  for (const e of document.querySelectorAll("svg text"))
    if (visible(e) && e.textContent.trim()) add(e.getBoundingClientRect(), e, e.textContent, e);
  seen.sort((a, b) => a.r.top - b.r.top);
  const turned = /rotate\(([-\d.]+)/;
  const slanted = e => e.getAttribute && Number((e.getAttribute("transform") || "").match(turned)?.[1] || 0) % 90;
  const overlaps = [];
  seen.forEach((a, i) => {
    for (let j = i + 1; j < seen.length && seen[j].r.top < a.r.bottom; j++) {
      const b = seen[j];
      if (a.owner === b.owner || slanted(a.owner) && slanted(b.owner)) continue;  // boxes of slanted words cross
      const wide = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
      const high = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
      const line = Math.min(a.r.bottom - a.r.top, b.r.bottom - b.r.top);
      if (wide > 1 && high > 0.25 * line) overlaps.push([a.text, b.text]);
    }
  });
  const numbers = s => (s.match(/[\d.]+/g) || []).map(Number);
  const luminance = c => c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  function behind(e) {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  }
  const faint = new Set();
  for (const {owner, text} of seen) {
    const e = owner.parentElement, svg = owner.nodeType === 1;
    const style = getComputedStyle(svg ? owner : e);
    if (svg && ["rgb(255, 255, 255)", "rgb(0, 0, 1)"].includes(style.fill)) continue;  // on a coloured mark
    const pair = [luminance(numbers(svg ? style.fill : style.color)), luminance(behind(e))].sort();
    if ((Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5) faint.add(text);
  }
  const all = s => [...document.querySelectorAll(s)];
  const ids = all("[id]").map(e => e.id), known = new Set(ids);
  const wanted = all("*").flatMap(e => [...e.attributes].flatMap(a =>
    [...a.value.matchAll(/url\(#([^)]+)\)/g)].map(m => m[1])
      .concat(/href$/.test(a.name) && a.value.startsWith("#") ? [a.value.slice(1)] : [])));
  return {
    texts: seen.length, overlaps, faint: [...faint],
    scroll: document.documentElement.scrollWidth - window.innerWidth,
    unnamed: all("img").filter(e => !e.alt.trim()).concat(all("svg").filter(e => e.getAttribute("role") !== "img"
      || !(e.getAttribute("aria-label") || "").trim())).map(e => e.outerHTML.slice(0, 80)),
    unscoped: all("th").filter(e => !e.scope).concat(all("table").filter(e => !e.querySelector("thead th")))
      .map(e => e.outerHTML.slice(0, 80)),
    headings: all("h1, h2, h3, h4, h5, h6").map(e => Number(e.tagName[1])),
    repeated: ids.filter((id, i) => ids.indexOf(id) !== i), dangling: wanted.filter(id => !known.has(id)),
    figures: all("svg").length, pictures: all("img").length, tables: all("table").length,
    letters: Math.min(99, ...all(".card svg text").filter(visible).map(e => parseFloat(getComputedStyle(e).fontSize)
      * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width)),
    clipped: all("main *").filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible"
      && visible(e) && (e.tabIndex < 0 || !getComputedStyle(e).backgroundImage.includes("gradient")))
      .map(e => e.outerHTML.slice(0, 80)),
  };
})()
"""


class Seen(NamedTuple):
    """What a page did and is."""

    requests: list
    complaints: list
    facts: dict


class Browser:
    """One Chromium; messages are JSON, each ended by a zero byte, on file descriptors 3 and 4."""

    def __init__(self, program, folder):
        to_child, from_child = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_child[0], from_child[1])]
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
        flags += ["--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)),
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (to_child[0], from_child[1], *ends):
            os.close(fd)
        self.out, self.into, self.rest, self.number, self.events = to_child[1], from_child[0], b"", 0, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    session = None

    def ask(self, method, **params):
        """The answer to a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda m: m.get("id") == self.number)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def _until(self, found, seconds=60.0):
        end = time.monotonic() + seconds
        while True:
            while b"\0" in self.rest:
                line, _, self.rest = self.rest.partition(b"\0")
                message = json.loads(line)
                if "method" in message:
                    self.events.append(message)
                if found(message):
                    return message
            assert select.select([self.into], [], [], max(end - time.monotonic(), 0))[0], "Chromium does not answer."
            data = os.read(self.into, 1 << 20)
            assert data, "Chromium has ended."
            self.rest += data

    def open(self, path, width, *, dark=False, unfold=True):
        """Load a page at this width and ask it everything."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        if not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._until(lambda m: m.get("method") == "Page.loadEventFired")
        if unfold:
            self.run("document.querySelectorAll('details').forEach(e => e.open = true)")
        facts = self.run(CHECK)
        named = {name: [e["params"] for e in self.events if e["method"] == name] for name in EVENTS}
        requests = [e["request"]["url"] for e in named["Network.requestWillBeSent"]]
        said = [e["entry"]["text"] for e in named["Log.entryAdded"] if e["entry"]["level"] == "error"]
        said += [str(e["args"]) for e in named["Runtime.consoleAPICalled"] if e["type"] in ("error", "assert")]
        said += [str(e["exceptionDetails"]) for e in named["Runtime.exceptionThrown"]]
        return Seen(requests, said, facts)

    def run(self, code):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path):
        """The whole page as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def pdf(self):
        """The page on paper."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def close(self):
        self.session = None
        self.ask("Browser.close")
        self.process.wait(30)
        os.close(self.out)
        os.close(self.into)


EVENTS = ("Network.requestWillBeSent", "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")


@contextmanager
def browser():
    """A Chromium for some tests; without one they are skipped, unless FTHETA_BROWSER=required."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        assert os.environ.get("FTHETA_BROWSER") != "required", "There is no Chromium, and FTHETA_BROWSER=required."
        pytest.skip("opens pages in Chromium, which is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        opened = Browser(program, folder)
        try:
            yield opened
        finally:
            opened.close()
