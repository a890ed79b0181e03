import * as v from 'valibot'
import { allOrAbort } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import { CodedError } from '../../lib/error.ts'
import { isJsonObject } from '../../lib/text/json.ts'
import type { Route, RouteRequest } from '../route/route.ts'

/*
 * Names of wallets in requests: `wallet=name.eth`. They are replaced by their addresses before a route sees them, so that
 * links, receipts and stored answers hold addresses alone.
 */

/**
 * Tells the address of a name. Throws `CodedError` INVALID_PARAMETER for text that is no name, NOT_FOUND for a name without
 * an address.
 */
export type NameReader = (name: string, work: Work) => Promise<string>

/** Most names of a request: each is a question to an endpoint. */
const NAMES_MAX = 5
/** An address of EVM chains, to find out what a parameter takes. */
const PROBE = `0x${'0'.repeat(39)}1`
/** A wallet in a query whose value has a dot, which no address has. */
const NAMED = /(?:^|&)wallet=([^&]*(?:\.|%2e)[^&]*)/i

/** Names in a request, and what the request is without them. */
export interface NamedRequest {
  readonly names: readonly string[]
  /** Returns the request with addresses in place of names. */
  replace(addresses: ReadonlyMap<string, string>): { readonly query: string; readonly request: RouteRequest }
}

/**
 * Finds names in the query of a request, or in the wallets of its body, if its route takes wallets of EVM chains. Throws
 * `CodedError` INVALID_PARAMETER for too many, or as `request.body`.
 */
export async function findNames(
  route: Pick<Route, 'input' | 'body'>,
  { query, request }: { readonly query: string; readonly request: RouteRequest },
): Promise<NamedRequest | undefined> {
  if (takesWallets(route.body)) return await findNamesInBody(query, request)
  const sent = NAMED.exec(query)?.[1]
  if (sent === undefined || !takesWallet(route.input)) return undefined
  const wallets = decode(sent).split(',')
  const names = checkNumber(wallets.filter(isName), 'wallet')
  if (names.length === 0) return undefined
  return {
    names,
    replace(addresses) {
      const wallet = wallets.map((each) => addresses.get(each) ?? each).join()
      const parameters = () => {
        const { values, ...others } = request.parameters()
        return { ...others, values: { ...(isJsonObject(values) ? values : {}), wallet } }
      }
      const replaced = query.replace(NAMED, (text) =>
        text.replace(sent, encodeURIComponent(wallet).replaceAll('%2C', ',')),
      )
      return { query: replaced, request: change(request, { parameters }) }
    },
  }
}

/** True if the query of a request may have a name, or its body: a quick look, before anything is read. */
export function mayHaveNames(route: Pick<Route, 'body'>, query: string): boolean {
  return NAMED.test(query) || takesWallets(route.body)
}

async function findNamesInBody(query: string, request: RouteRequest): Promise<NamedRequest | undefined> {
  const body = await request.body()
  const value = tryParse(body.value)
  const wallets = isJsonObject(value) && Array.isArray(value['wallets']) ? (value['wallets'] as readonly unknown[]) : []
  const names = checkNumber(wallets.filter((each) => typeof each === 'string').filter(isName), 'wallets')
  const known = change(request, { body: async () => body })
  if (names.length === 0) return { names, replace: () => ({ query, request: known }) }
  return {
    names,
    replace(addresses) {
      const replaced = {
        ...(value as object),
        wallets: wallets.map((each) => (typeof each === 'string' ? (addresses.get(each) ?? each) : each)),
      }
      const bytes = Buffer.from(JSON.stringify(replaced))
      return { query, request: change(request, { body: async () => ({ bytes, value: () => replaced }) }) }
    },
  }
}

/** Returns a request with other parameters or another body. Requests may be objects of a class. */
function change(request: RouteRequest, parts: Partial<Pick<RouteRequest, 'parameters' | 'body'>>): RouteRequest {
  return {
    ...(request.byAddress && { byAddress: true }),
    ...(request.rows !== undefined && { rows: request.rows }),
    ...(request.reads !== undefined && { reads: request.reads }),
    parameters: () => request.parameters(),
    body: () => request.body(),
    ...parts,
  }
}

/** Parses a body; undefined if it cannot be parsed, which its route reports. */
function tryParse(value: () => unknown): unknown {
  try {
    return value()
  } catch {
    return undefined
  }
}

function checkNumber(names: readonly string[], parameter: string): readonly string[] {
  const different = [...new Set(names)]
  if (different.length <= NAMES_MAX) return different
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot read parameter "${parameter}": expected at most ${NAMES_MAX} names, got ${different.length}; send addresses`,
  )
}

function isName(text: string): boolean {
  return text.includes('.')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // The route reports it.
    return ''
  }
}

interface Entries {
  readonly entries?: Readonly<Record<string, v.GenericSchema>>
}

/** True if the query parameter `wallet` takes an address of EVM chains. */
function takesWallet(input: v.GenericSchema): boolean {
  const wallet = (input as Entries).entries?.['wallet']
  return wallet !== undefined && v.is(wallet, PROBE)
}

/** True if the body has wallets of EVM chains. */
function takesWallets(body: v.GenericSchema | undefined): boolean {
  const wallets = (body as Entries | undefined)?.entries?.['wallets']
  return wallets !== undefined && v.is(wallets, [PROBE])
}

/** True if requests of a route may name wallets. */
export function takesNames({ input, body }: Pick<Route, 'input' | 'body'>): boolean {
  return takesWallet(input) || takesWallets(body)
}

/** Asks for the addresses of names, all at once. Throws as the reader. */
export async function readNames(
  names: readonly string[],
  readName: NameReader,
  work: Work,
): Promise<ReadonlyMap<string, string>> {
  const addresses = await allOrAbort(
    names.map((name) => (shared: Work) => readName(name, shared)),
    work,
  )
  return new Map(names.map((name, index) => [name, addresses[index] ?? '']))
}

/** Writes names with their addresses for `X-Wallet`: `name.eth=0x…`; characters beyond ASCII are percent-encoded. */
export function formatNames(addresses: ReadonlyMap<string, string>): string {
  return [...addresses].map(([name, address]) => `${encodeURIComponent(name)}=${address}`).join(', ')
}
