/** An endpoint's address as `fetch` takes it. Both parts may hold secrets. */
interface RpcTarget {
  /** Without user and password: `fetch` refuses URLs that have them, and quotes them in its error. */
  readonly url: string
  /** Value of the `Authorization` header with user and password; undefined if the URL has neither. */
  readonly authorization: string | undefined
}

/** What `parseRpcUrl` accepts, to complete a sentence that begins with "expected". */
export const RPC_URL_EXPECTED = 'an http or https URL without fragment, its name and password percent-encoded'

/** Reads an endpoint's address; undefined if no request could be sent there. */
export function parseRpcUrl(text: string): RpcTarget | undefined {
  // The parser drops line breaks and encodes spaces, but an address with them is a mistake.
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
