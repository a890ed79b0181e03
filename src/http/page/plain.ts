import { hash } from 'node:crypto'
import { htmlHeaders, htmlText } from './html.ts'
import type { Page } from './page.ts'
import { ASK_AGAIN, sent } from './static.ts'

const STYLE = `:root{color-scheme:light dark;background:Canvas;font:16px/1.5 system-ui,sans-serif}body{max-width:96rem;margin:0 auto;padding:1rem}
.guide{max-width:48rem}nav a{margin-right:1rem}.guide code{overflow-wrap:anywhere}
table{border-collapse:collapse}th,td{border-bottom:1px solid #8886;padding:.5rem .75rem .5rem 0;text-align:left;vertical-align:top}
.scroll,.guide table{overflow-x:auto}.guide table{display:block}.scroll table{min-width:72rem}
pre{overflow-x:auto;padding:.75rem;border:1px solid #8886;border-radius:.5rem}code{font-size:.9em}th code,td:last-child code{white-space:nowrap}
.guide td code{white-space:normal}`

/** Nothing runs and nothing is loaded; the one style is allowed by its hash. */
const HEADERS = {
  ...htmlHeaders(['img-src data:', `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`]),
  'cache-control': ASK_AGAIN,
}

/** A page of text, without scripts. `title` must be safe in HTML; `body` is HTML. */
export function plainPage({ title, body }: { readonly title: string; readonly body: string }): Page {
  const head = `<title>walletscope: ${title}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>`
  return sent(htmlText({ head, body }), HEADERS)
}
