/** An endpoint's URL in the form that `fetch` accepts. Both parts may contain secrets. */
interface RpcTarget {
  /** URL without user and password: `fetch` refuses URLs with them, and quotes them in its error. */
  readonly url: string
  /** Value of the `Authorization` header with user and password; undefined if the URL has neither. */
  readonly authorization: string | undefined
}

/** Description of the URLs that `parseRpcUrl` accepts, to follow "expected". */
export const RPC_URL_EXPECTED = 'an http or https URL without fragment, its name and password percent-encoded'

/** Parses an endpoint's URL; undefined if no request can be sent to it. */
export function parseRpcUrl(text: string): RpcTarget | undefined {
  // The parser drops line breaks and encodes spaces, but a URL with them is a mistake.
  if (/[\s\p{Cc}#]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.port === '0') return undefined
  const { username, password } = url
  if (username === '' && password === '') return { url: url.href, authorization: undefined }
  url.username = ''
  url.password = ''
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { url: url.href, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  } catch {
    // Only URIError can be thrown: the percent-encoding is broken, or its bytes are not UTF-8.
    return undefined
  }
}
