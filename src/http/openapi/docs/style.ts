/** The whole style of the page, without fonts, pictures or files: light, dark, narrow, wide and on paper. */
export const DOCS_STYLE = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --sunk: #f3f3f0; --line: #e3e2dd;
  --text: #22252a; --quiet: #5d636c; --link: #1f5f9e; --get: #11633f; --get-back: #e2f3ea;
  --other: #8a4300; --other-back: #fceeda; --must: #a12a35;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15171a; --card: #1b1e22; --sunk: #22262b; --line: #31363d;
    --text: #e3e5e8; --quiet: #a2a9b3; --link: #8dbdf0; --get: #85d9ae; --get-back: #1b3529;
    --other: #f0b877; --other-back: #3a2a17; --must: #f2959d;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 76rem; padding: 0 1rem; background: var(--page); color: var(--text); font: 1rem/1.6 var(--sans); overflow-wrap: break-word; }
a { color: var(--link); text-underline-offset: .18em; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
code, pre, .method, .type, .status { font-family: var(--mono); font-size: .875em; }
p { margin: .5rem 0; max-width: 44rem; }
h1, h2, h3, h4 { line-height: 1.3; margin: 0; }
h1 { font-size: 2rem; letter-spacing: -.02em; }
h1 .version { color: var(--quiet); font-size: 1rem; font-weight: 400; letter-spacing: 0; margin-left: .35rem; }
h2 { font-size: 1.35rem; letter-spacing: -.01em; margin-top: 3.5rem; padding-bottom: .4rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.0625rem; font-weight: 600; margin-top: 1.5rem; }
h4 { font-size: .875rem; margin: 1.5rem 0 .4rem; }
h3 a { color: inherit; text-decoration: none; overflow-wrap: anywhere; }
h3 a:hover { text-decoration: underline; }
h3 code { font-size: 1em; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 1; padding: .5rem 1rem; background: var(--card); }
header { padding-top: 2.5rem; }
.lead { font-size: 1.125rem; }
nav { margin-top: 2rem; font-size: .875rem; line-height: 1.4; }
nav h2 { font-size: .875rem; margin: 0 0 .5rem; border: 0; padding: 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav .group { margin: 1rem 0 .15rem; color: var(--quiet); max-width: none; }
nav li a { display: block; padding: .25rem 0; color: var(--text); text-decoration: none; overflow-wrap: anywhere; }
nav li a:hover { color: var(--link); text-decoration: underline; }
nav .method { background: none; padding: 0; margin-right: .15rem; font-size: .75em; }
.method { display: inline-block; padding: .1em .5em; border-radius: .3rem; font-weight: 600; font-size: .8125em; }
.get { color: var(--get); background: var(--get-back); }
.other { color: var(--other); background: var(--other-back); }
.operation { margin-top: 2rem; padding: .25rem 1.25rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.operation h3 { margin-top: 1rem; }
.price { padding-left: .75rem; border-left: 3px solid var(--line); }
.price strong { margin-right: .35rem; }
pre { margin: .5rem 0; padding: .75rem 1rem; background: var(--sunk); border-radius: .4rem; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.5; }
pre code { font-size: .8125rem; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
th, td { padding: .55rem .75rem .55rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; overflow-wrap: anywhere; }
thead th { color: var(--quiet); font-size: .8125rem; padding-top: .25rem; padding-bottom: .25rem; }
tr > :last-child { padding-right: 0; }
.operation tbody tr:last-child > * { border-bottom: 0; }
td p, .fields p, .value p { margin: .1rem 0 0; color: var(--quiet); font-size: .9375em; }
.parameters th:first-child { width: 38%; }
.prices td { width: 50%; }
.prices a { text-decoration: none; }
.prices a code { text-decoration: underline; text-decoration-thickness: 1px; text-underline-offset: .18em; }
.answers th:first-child { width: 4rem; }
.headers th:first-child { width: 40%; }
.answers p { margin: 0; max-width: none; color: inherit; font-size: inherit; }
.answers .codes { margin-top: .25rem; color: var(--quiet); font-size: .8125rem; overflow-wrap: anywhere; }
.name { font-weight: 600; }
.place { display: block; color: var(--quiet); font-size: .8125rem; }
.required { color: var(--must); }
.type { color: var(--quiet); }
.limits, .optional, .media, .also { color: var(--quiet); font-size: .875em; font-weight: 400; }
.optional { font-style: italic; }
.limits code { color: var(--text); font-size: .95em; }
details > summary { cursor: pointer; }
.answer { margin: .4rem 0; }
.status { font-weight: 600; }
.also { max-width: none; }
.fields { list-style: none; margin: .25rem 0 .25rem .3rem; padding: 0 0 0 1rem; border-left: 1px solid var(--line); font-size: .9375rem; }
.fields .fields { font-size: inherit; }
.fields li { padding: .15rem 0; overflow-wrap: anywhere; }
.fields summary { list-style-position: outside; }
.value { font-size: .9375rem; margin: .25rem 0 .25rem .3rem; padding-left: 1rem; border-left: 1px solid var(--line); }
footer { margin: 4rem 0 2rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: .875rem; }
@media (max-width: 30rem) {
  .operation { padding: .25rem .875rem .75rem; }
  .prices { font-size: .875rem; }
  .prices code, pre code { font-size: .75rem; }
  .fields { margin-left: 0; padding-left: .75rem; }
}
@media (min-width: 40rem) {
  body { padding: 0 2rem; }
  p code { white-space: nowrap; }
  nav ul.pages { columns: 2; column-gap: 2rem; }
}
@media (min-width: 64rem) {
  body { display: grid; grid-template: "nav header" auto "nav main" 1fr "nav footer" auto / 17rem minmax(0, 1fr); column-gap: 3.5rem; }
  header { grid-area: header; }
  main { grid-area: main; }
  footer { grid-area: footer; }
  nav { grid-area: nav; margin: 0; }
  nav > div { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 2.75rem .5rem 2rem 0; scrollbar-width: thin; }
  nav ul.pages { columns: 1; }
}
@media print {
  :root { color-scheme: light; --page: #fff; --card: #fff; --sunk: #f5f5f5; --line: #bbb; --text: #000; --quiet: #444; --link: #000; --get: #000; --get-back: #fff; --other: #000; --other-back: #fff; --must: #000; }
  html { font-size: 10pt; }
  body { display: block; max-width: none; padding: 0; }
  nav, .skip { display: none; }
  .operation { border: 0; border-top: 1px solid var(--line); border-radius: 0; padding: 0; }
  h2, h3, h4 { break-after: avoid; }
  tr, pre, summary, p { break-inside: avoid; }
  summary { break-after: avoid; }
  details::details-content { content-visibility: visible; display: block; }
}
`
