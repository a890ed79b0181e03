import type { PreparedAnswer } from '../respond.ts'

/** A page that does not require a key. */
export type Page = (requestId: string, request: Request) => PreparedAnswer | Promise<PreparedAnswer>

export type Pages = ReadonlyMap<string, Page>

/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`)
}

/** Renders a page; `head` and `body` are HTML. */
export function renderHtml({ head, body }: { readonly head: string; readonly body: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${head}
</head>
<body>
${body}
</body>
</html>
`
}

/** Returns headers of a page that may load and run only what these directives list, and may not be framed. */
export function htmlHeaders(directives: readonly string[], formAction: "'none'" | "'self'" = "'none'") {
  const closed = ["base-uri 'none'", `form-action ${formAction}`, "frame-ancestors 'none'"]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': ["default-src 'none'", ...directives, ...closed].join('; '),
    'referrer-policy': 'no-referrer',
  }
}
