import { parseRpcUrl, RPC_URL_EXPECTED } from '../../chain/rpc/url.ts'

/** What is said of a list of endpoints that is none. */
export const URLS_EXPECTED = `URLs, separated by commas, each ${RPC_URL_EXPECTED}`

/** The parts of a list, separated by commas. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Endpoints, at least one; undefined for anything else. */
export function parseUrls(text: string): readonly string[] | undefined {
  const urls = splitList(text)
  return urls.length > 0 && urls.every((url) => parseRpcUrl(url) !== undefined) ? urls : undefined
}
