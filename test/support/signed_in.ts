/** What a browser gets when a login link is used up: a cookie, and the page that keeps the session's other secret. */
export interface SignedIn {
  /** `name=value`, empty if none came. */
  readonly cookie: string
  /** Value of the cookie. */
  readonly value: string
  /** Where the page leads to, and what it keeps for there; empty if there is nothing. */
  readonly page: string
  readonly secret: string
  /** Headers of a request in this session. */
  readonly headers: Readonly<Record<string, string>>
}

/** Reads them from the answer. */
export function parseSignedIn(answer: {
  readonly setCookie: string | null | undefined
  readonly text: string
}): SignedIn {
  const cookie = answer.setCookie?.split(';')[0] ?? ''
  const [, page = '', secret = ''] = /data-page="(\w+)" data-secret="(\w+)"/.exec(answer.text) ?? []
  return { cookie, value: cookie.split('=')[1] ?? '', page, secret, headers: { cookie, 'x-session-page': secret } }
}
