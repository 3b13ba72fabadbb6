"""The look of a page: light, dark and paper; from a telephone to a wide screen."""

from __future__ import annotations

__all__ = ["CSS"]

CSS = """
:root { color-scheme: light dark; --back: #ffffff; --ink: #1c2126; --soft: #555e68; --rule: #d5dae0; --shade: #f4f6f8;
  --link: #0a58a6; --warn: #fff4dc; --edge: #b36b00; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --ink: #e7eaed; --soft: #a9b2bb; --rule: #363d45;
  --shade: #1e2328; --link: #7cb8f2; --warn: #33280f; --edge: #e0a13a; } }
* { box-sizing: border-box; }
html { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif;
  -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 48rem; background: var(--back); color: var(--ink);
  overflow-wrap: break-word; }
h1 { margin: 0 0 .5rem; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 3rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--rule); font-size: 1.4rem;
  line-height: 1.25; }
h3 { margin: 2rem 0 .5rem; font-size: 1.08rem; line-height: 1.3; }
p, ul, dl { margin: .5rem 0 .9rem; }
a { color: var(--link); }
code, pre, kbd { font: .875em/1.5 ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; }
pre { padding: .75rem 1rem; background: var(--shade); border: 1px solid var(--rule); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; }
.soft, .caption, figcaption, footer { color: var(--soft); font-size: .9rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 1.25rem; padding: 0; list-style: none; }
.note { margin: 1rem 0; padding: .75rem 1rem; background: var(--warn); border-left: 4px solid var(--edge);
  border-radius: 0 6px 6px 0; }
.note p, .note ul { margin: 0; padding-left: 0; }
.note li { margin-left: 1.1rem; }
.box { overflow-x: auto; margin: .75rem 0 1.25rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.caption { margin: .75rem 0 -.5rem; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th { border-bottom-color: var(--soft); font-weight: 600; white-space: nowrap; }
td { min-width: 3rem; max-width: 32rem; }
th:last-child, td:last-child { padding-right: .2rem; }
figure { margin: .75rem 0 1.25rem; }
.card { padding: .5rem; background: #fff; border: 1px solid var(--rule); border-radius: 6px; text-align: center; }
.card svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr)); gap: 1rem .75rem; }
.grid figure { margin: 0; }
.grid img { display: block; width: 100%; image-rendering: pixelated; border: 1px solid var(--rule);
  border-radius: 4px; }
.grid figcaption { margin-top: .3rem; line-height: 1.35; }
summary { cursor: pointer; color: var(--link); font-size: .9rem; }
footer { margin-top: 3rem; padding-top: .75rem; border-top: 1px solid var(--rule); }
@media (min-width: 72rem) {
  body { display: grid; grid-template-columns: 12rem minmax(0, 50rem); gap: 0 3.5rem; max-width: 68rem;
    padding-top: 2.5rem; }
  nav { position: sticky; top: 2.5rem; align-self: start; font-size: .95rem; }
  nav ul { flex-direction: column; margin: .35rem 0; }
}
@media (max-width: 30rem) { h1 { font-size: 1.55rem; } h2 { font-size: 1.25rem; } .card { padding: .25rem; }
  .grid { grid-template-columns: repeat(auto-fill, minmax(6rem, 1fr)); } }
@media print {
  :root { --back: #fff; --ink: #000; --soft: #444; --rule: #bbb; --shade: #fff; --link: #000; --warn: #fff;
    --edge: #000; }
  body { display: block; max-width: none; padding: 0; font-size: 10.5pt; }
  nav, details:not([open]) { display: none; }
  a { text-decoration: none; }
  h2, h3, .caption { break-after: avoid; }
  figure, tr, .note, pre { break-inside: avoid; }
  .box { overflow: visible; } table { font-size: 8.5pt; } td { overflow-wrap: anywhere; }
  .card { border: 0; padding: 0; } .card svg { max-width: 15cm; }
  @page { margin: 1.8cm; }
}
"""
