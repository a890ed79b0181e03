import * as v from 'valibot'
import { type Address, bytesToHex, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { namehash, normalize, packetToBytes } from 'viem/ens'
import type { Block } from '../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../chain/block_cache.ts'
import { decodeLensPage } from '../../chain/call/cursor.ts'
import { type LensReading, readByLens } from '../../chain/call/lens.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import { documented } from '../../http/request/input.ts'
import { type Charge, PER_CALL } from '../../http/route/charge.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, PendingError, UnavailableError, UpstreamError } from '../../lib/error.ts'
import { once } from '../../lib/memoize.ts'
import { EVM_ADDRESS, text, withWords } from '../../lib/text/text_format.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** ENS resolves names on Ethereum alone. */
const ENS_CHAIN_ID = 1
const CHARGE: Charge = { credits: 1, per: PER_CALL }

/** Success body of the name route, without `request_id`. */
const nameOutput = v.strictObject({
  data: v.strictObject({
    name: withWords('The name in its normal form (ENSIP-15)', v.string()),
    wallet: withWords('The address that it names, checksummed', text(EVM_ADDRESS)),
  }),
})

/** Where names are read. */
interface NameOptions {
  /** Returns clients by chain id; called when a name is first read. */
  readonly connect: () => { readonly clients: ReadonlyMap<number, ChainClient>; readonly clock: Clock }
}

/**
 * Creates a reader of names in requests about wallets: Ethereum's newest block tells, whatever the request is about. It
 * throws `CodedError` INVALID_PARAMETER, NOT_FOUND or API_ENDPOINT_NOT_CONFIGURED.
 */
export function createWalletNameReader({ connect }: NameOptions) {
  const reader = once(() => {
    const { clients, clock } = connect()
    const client = clients.get(ENS_CHAIN_ID)
    return client === undefined ? undefined : createNameReader({ client, clock })
  })
  return async (text: string, work: Work): Promise<Address> => {
    const name = v.safeParse(ensName, text)
    if (!name.success) {
      const detail = `expected an address, or ${EXPECTED_NAME.slice('expected '.length)}, got "${text}"`
      throw new CodedError('INVALID_PARAMETER', `Cannot read parameter "wallet": ${detail}`)
    }
    try {
      return (await requireWallet(reader(), name.output, work)).wallet
    } catch (error) {
      throw isUnreachable(error) ? silentError(name.output, error) : error
    }
  }
}

function isUnreachable(error: unknown): error is CodedError {
  return error instanceof UpstreamError || (error instanceof UnavailableError && !(error instanceof PendingError))
}

/** Creates the error of a name that no endpoint could be asked about: a request about another chain has this reason too. */
function silentError(name: string, cause: CodedError): UnavailableError {
  return new UnavailableError(`${cause.message}, which tells the wallet of "${name}": send its address, or try again`, {
    cause,
  })
}

async function requireWallet(readName: NameReader | undefined, name: string, work: Work) {
  if (readName === undefined) {
    throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'ENS names need Ethereum, which is not configured here')
  }
  const result = await readName(name, work)
  if ('unresolved' in result) {
    throw new CodedError('NOT_FOUND', `Cannot find a wallet for "${name}": ${result.unresolved}`)
  }
  return result
}

/** Defines the route that resolves names of wallets. */
export function nameRoute(options: NameOptions): Route {
  const reader = once(() => {
    const { clients, clock } = options.connect()
    const client = clients.get(ENS_CHAIN_ID)
    return client === undefined ? undefined : createNameReader({ client, clock })
  })
  return defineRoute({
    method: 'GET',
    path: '/v1/names',
    operation: 'ens_wallet',
    tool: { name: 'resolve_ens_name', title: 'Wallet of an ENS name' },
    summary: 'Resolves an ENS name.',
    description:
      "Asks ENS' Universal Resolver on Ethereum, or the first registry and the resolver that it names where there is " +
      'none. Look-ups outside the chain (ERC-3668) are not followed: such a name is 404, as is one without an address.',
    input: v.object({ name: ensName }),
    output: nameOutput,
    errors: [404, 503],
    charge: CHARGE,
    read: ({ name }, { work }) => requireWallet(reader(), name, work),
    untilMs: ({ untilMs }) => untilMs,
    present: ({ block, wallet }, { name }) => ({
      data: { name, wallet },
      asOf: [{ chainId: block.chainId, blockNumber: block.number }],
    }),
  })
}

const CACHE_ENTRIES_MAX = 1_000
const ABI = parseAbi(['function read(bytes name, bytes32[] nodes)'])

/** Why a name has no address, by the outcome number of `lens.sol`; empty for the outcome with an address. */
const REASONS = [
  'it is not registered, or it has no resolver',
  '',
  'it is resolved outside the chain, and such look-ups are not followed',
  'its resolver does not answer',
  'the chain has no contracts of ENS',
] as const
const NO_ADDRESS = 'it is registered, but has no Ethereum address'

/** The wallet of a name at a block, or why there is none. */
type NameResult = { readonly block: Block } & ({ readonly wallet: Address } | { readonly unresolved: string })

/** Resolves a normalized name at the newest block, in one request. Throws like `ChainClient.read`. */
type NameReader = (name: string, work: Work) => Promise<WithExpiry<NameResult>>

/** Creates a reader over the chain of ENS' contracts. */
export function createNameReader(options: { readonly client: ChainClient; readonly clock: Clock }): NameReader {
  const { client, clock } = options
  const { chain } = client
  const cache = createBlockCache<NameResult>({ clock, entriesMax: CACHE_ENTRIES_MAX })

  return (name, work) => {
    const data = encodeFunctionData({
      abi: ABI,
      functionName: 'read',
      args: [encodeDnsName(name), computeNamehashes(name)],
    })
    const lensQuery: LensReading<NameResult> = {
      topic: 'ens',
      runtime: LENS_RUNTIME,
      chainId: chain.id,
      clock,
      async read({ call, observeBlock }) {
        const { from, block } = decodeLensPage(await call({ data, block: 'latest' }))
        observeBlock(block)
        const unresolved = REASONS[from.number(1)]
        const wallet = from.address()
        if (unresolved === undefined) throw new UpstreamError('Cannot decode the lens: unknown outcome')
        if (unresolved !== '') return { block, unresolved }
        return wallet === zeroAddress ? { block, unresolved: NO_ADDRESS } : { block, wallet }
      },
    }
    const read = (shared: Work) =>
      client.read((endpoint, within) => readByLens(endpoint, lensQuery, within), { work: shared })
    return cache.reuse({ chain, key: name, read }, work)
  }
}

const NAME_BYTES_MAX = 255
const EXPECTED_NAME = `expected an ENS name such as vitalik.eth, of at most ${NAME_BYTES_MAX} bytes`

/** Schema of an ENS name with at least two labels; yields its normal form (ENSIP-15), which folds case. */
const ensName = v.pipe(
  v.string(EXPECTED_NAME),
  v.rawTransform(({ dataset, addIssue, NEVER }): string => {
    const name = tryNormalize(dataset.value)
    if (name?.includes('.') && Buffer.byteLength(name) <= NAME_BYTES_MAX) return name
    addIssue({ message: EXPECTED_NAME })
    return NEVER
  }),
  documented({
    type: 'string',
    maxLength: NAME_BYTES_MAX,
    description: `ENS name of at most ${NAME_BYTES_MAX} bytes; normalized by ENSIP-15.`,
    examples: ['vitalik.eth'],
  }),
)

function tryNormalize(text: string): string | undefined {
  try {
    return normalize(text)
  } catch {
    // An empty label, or characters that names must not have.
    return undefined
  }
}

/** Encodes a normalized name in DNS wire format. */
function encodeDnsName(name: string): Hex {
  return bytesToHex(packetToBytes(name))
}

/** Computes the hashes of a normalized name, of its parent and so on, without the root. */
function computeNamehashes(name: string): readonly Hex[] {
  const labels = name.split('.')
  return labels.map((_, index) => namehash(labels.slice(index).join('.')))
}
