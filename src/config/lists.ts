import { parseRpcUrl, RPC_URL_EXPECTED } from '../chain/rpc/url.ts'

/** The expectation in errors about lists of endpoints. */
export const URLS_EXPECTED = `URLs, separated by commas, each ${RPC_URL_EXPECTED}`

/** Splits a list at its commas. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Parses a list of endpoints, at least one; undefined for anything else. */
export function parseUrls(text: string): readonly string[] | undefined {
  const urls = splitList(text)
  return urls.length > 0 && urls.every((url) => parseRpcUrl(url) !== undefined) ? urls : undefined
}
