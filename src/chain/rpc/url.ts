/** An endpoint's address as `fetch` takes it. Both parts may hold secrets. */
export interface RpcTarget {
  /** Without name and password: `fetch` refuses addresses that carry them, and quotes them. */
  readonly url: string
  /** Value of the `Authorization` header that carries them; undefined if there are none. */
  readonly authorization: string | undefined
}

/** What `parseRpcUrl` takes, to complete a sentence that begins with "expected". */
export const RPC_URL_EXPECTED = 'an http or https URL without fragment, its name and password percent-encoded'

/** Reads an endpoint's address; undefined if no request could be sent there. */
export function parseRpcUrl(text: string): RpcTarget | undefined {
  // The parser drops line breaks and encodes spaces: what they come from is a mistake, not an address.
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
    // URIError is all that can be thrown: the percent-encoding is broken, or its bytes are not UTF-8.
    return undefined
  }
}
