import * as v from 'valibot'
import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import type { ChainRecord, RecordedAccount } from '../chain/receipt/record.ts'
import type { Reply } from '../http/route/route.ts'
import { memoize } from '../lib/memoize.ts'
import type { StateProof } from './proof/job.ts'
import type { Told } from './testimony.ts'

/** The type of a receipt's envelope. */
export const PAYLOAD_TYPE = 'application/vnd.walletscope.receipt.v1+json'

/** Levels by what a verifier must trust: the signer; any endpoint of its choice; a quorum; a block's hash. */
const LEVELS = ['signed', 'replayable', 'agreed', 'proven'] as const

const hex = v.pipe(
  v.string(),
  v.regex(/^0x(?:[0-9a-f]{2})*$/),
  v.transform((text) => text as Hex),
)
const word = v.pipe(
  v.string(),
  v.regex(/^0x[0-9a-f]{64}$/),
  v.transform((text) => text as Hex),
)
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

const block = v.strictObject({ number: whole, hash: word, parent_hash: word, timestamp: whole })

const address = v.pipe(
  v.string(),
  v.regex(/^0x[0-9a-f]{40}$/),
  v.transform((text) => text as Hex),
)

/** An account that has other code or storage during a call. */
const other = v.strictObject({
  address,
  code: v.exactOptional(word),
  storage: v.exactOptional(v.array(v.strictObject({ slot: word, word }))),
})

const read = v.strictObject({
  chain_id: whole,
  block,
  calls: v.array(
    v.strictObject({
      lens: word,
      data: hex,
      others: v.exactOptional(v.array(other)),
      gas: whole,
      answer: hex,
      // An earlier block of a call stands beside it.
      block: v.exactOptional(block),
    }),
  ),
  headers: v.array(v.strictObject({ method: v.string(), params: v.array(v.unknown()), result: v.unknown() })),
  agreed: v.pipe(whole, v.minValue(1)),
})

/** What histories told, which no state proves. */
const told = v.strictObject({ chain_id: whole, name: v.string(), texts: v.array(v.string()) })

const proof = v.strictObject({ chain_id: whole, header: hex, nodes: v.array(hex), codes: v.array(hex) })

const fields = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^rcp_[0-9A-Z]{26}$/)),
  issued_at: v.pipe(v.string(), v.isoTimestamp()),
  version: v.string(),
  level: v.picklist(LEVELS),
  request: v.strictObject({
    method: v.picklist(['GET', 'POST']),
    path: v.string(),
    query: v.string(),
    body: v.optional(v.unknown()),
  }),
  family: v.strictObject({ name: v.string(), revision: whole }),
  answer: v.strictObject({
    data: v.unknown(),
    fx: v.exactOptional(v.unknown()),
    pagination: v.exactOptional(v.unknown()),
    counts: v.exactOptional(v.unknown()),
  }),
  uncovered: v.array(v.string()),
  reads: v.array(read),
  testimony: v.exactOptional(v.array(told)),
  proofs: v.exactOptional(v.array(proof)),
  settings: v.strictObject({ chains: v.array(v.record(v.string(), v.unknown())) }),
})

const schema = v.pipe(
  fields,
  v.check(({ level, proofs }) => (level === 'proven') === (proofs !== undefined)),
  // No route reads the body of a GET, so a body would be said of an answer that ignores it.
  v.check(({ request: { method, body } }) => method === 'POST' || body === undefined),
)

/** The content of a receipt. */
export type Payload = v.InferOutput<typeof schema>

/** The covered part of an answer: links have no host. */
export type StatedAnswer = Payload['answer']

/** Parses a payload; undefined unless it has exactly the fields of this version. */
export function parsePayload(json: unknown): Payload | undefined {
  const parsed = v.safeParse(schema, json)
  return parsed.success ? parsed.output : undefined
}

/** Converts a reply to its stated form; removes `base` from links. */
export function stateReply({ data, fx, pagination, counts }: Reply, base: string): StatedAnswer {
  const path = (link: string | null) => (link?.startsWith(base) ? link.slice(base.length) : link)
  return {
    data,
    ...(fx === undefined ? {} : { fx }),
    ...(pagination === undefined
      ? {}
      : {
          pagination: { ...pagination, next_page: path(pagination.next_page), prev_page: path(pagination.prev_page) },
        }),
    ...(counts === undefined ? {} : { counts }),
  }
}

/** Converts a record to its form in a receipt. */
export function toPayloadRead({ chainId, block, calls, headers, agreed }: ChainRecord): Payload['reads'][number] {
  return {
    chain_id: chainId,
    block: toPayloadBlock(block),
    calls: calls.map(({ at, others, ...each }) => ({
      ...each,
      ...(others && { others: others.map(toPayloadAccount) }),
      ...(at && { block: toPayloadBlock(at) }),
    })),
    headers: headers.map(({ method, params, result }) => ({ method, params: [...params], result })),
    agreed,
  }
}

function toPayloadAccount({ storage, ...account }: RecordedAccount): v.InferOutput<typeof other> {
  return { ...account, ...(storage && { storage: [...storage] }) }
}

/**
 * Converts a read of a receipt to its record. The same read gives the same record, since queries of a replay are keyed
 * by the record's calls.
 */
export const toChainRecord = memoize(
  ({ chain_id, block, calls, headers, agreed }: Payload['reads'][number]): ChainRecord => {
    return {
      chainId: chain_id,
      block: toPinnedBlock(chain_id, block),
      calls: calls.map(({ block: at, ...each }) => ({ ...each, ...(at && { at: toPinnedBlock(chain_id, at) }) })),
      headers,
      agreed,
    }
  },
)

function toPayloadBlock({ number, hash, parentHash, timestampSec }: PinnedBlock): Payload['reads'][number]['block'] {
  return { number: Number(number), hash, parent_hash: parentHash, timestamp: Number(timestampSec) }
}

function toPinnedBlock(
  chainId: number,
  { number, hash, parent_hash: parentHash, timestamp }: Payload['reads'][number]['block'],
): PinnedBlock {
  return { chainId, number: BigInt(number), hash, parentHash, timestampSec: BigInt(timestamp) }
}

/** Converts what a history told to its form in a receipt. */
export function toPayloadTold({ chainId, name, texts }: Told): v.InferOutput<typeof told> {
  return { chain_id: chainId, name, texts: [...texts] }
}

/** Returns what histories told an answer. */
export function listTold({ testimony = [] }: Payload): readonly Told[] {
  return testimony.map(({ chain_id: chainId, ...each }) => ({ chainId, ...each }))
}

/** Converts a proof to its form in a receipt. */
export function toPayloadProof(
  chainId: number,
  { header, nodes, codes }: StateProof,
): NonNullable<Payload['proofs']>[number] {
  return { chain_id: chainId, header, nodes: [...nodes], codes: [...codes] }
}

/** What a receipt's level follows from. */
interface Grounds {
  readonly network: 'evm' | 'solana'
  /** Number of endpoints that gave the same bytes, by chain that was read. */
  readonly agreed: readonly number[]
  readonly isProven: boolean
}

/** Computes the level of a receipt. A verifier computes it again, so no receipt can have another one. */
export function computeLevel({ network, agreed, isProven }: Grounds): Payload['level'] {
  if (network === 'solana') return 'signed'
  if (isProven) return 'proven'
  return agreed.length > 0 && agreed.every((endpoints) => endpoints > 1) ? 'agreed' : 'replayable'
}

/**
 * Replaces the values at some paths by `null`: `data.pnl`, `data[*].pnl` of each item, `data[3].pnl` of one item. A
 * path without a value changes nothing.
 */
export function maskPaths(answer: StatedAnswer, paths: readonly string[]): unknown {
  return paths.reduce<unknown>((masked, path) => maskPath(masked, path.split(/[.[\]]+/)), answer)
}

function maskPath(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return null
  if (Array.isArray(value)) {
    return value.map((item, index) => (step === '*' || step === String(index) ? maskPath(item, rest) : item))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === step ? maskPath(item, rest) : item]),
  )
}
