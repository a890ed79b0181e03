import { type Hex, toHex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { blockAgeMaxSec } from '../../chain/block_age.ts'
import { callByOverride } from '../../chain/call/bundle/bundle.ts'
import { callDeployless } from '../../chain/call/deployless.ts'
import type { Chain } from '../../chain/chain.ts'
import { createEndpoint } from '../../chain/evm/endpoint.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import { readStateDepth, searchDepth, UNUSED_ADDRESS } from '../../chain/past/state_canary.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import { createHeadTracker } from '../../chain/rpc/endpoint_state.ts'
import { parseQuantity } from '../../chain/rpc/value.ts'
import { createSolanaClient, type SolanaClient, type SolanaSession } from '../../chain/solana/client.ts'
import { CLOCK_ADDRESS } from '../../chain/solana/clock.ts'
import { TOKEN_PROGRAM } from '../../chain/solana/token.ts'
import type { Config } from '../../config/config.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_OFFSET } from '../../family/kamino/read/accounts/layout.ts'
import { KAMINO_MAINNET } from '../../finance/price/table/kamino.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import type { Log } from '../../lib/log.ts'
import { decodeBase58Address } from '../../lib/text/base58.ts'
import { canProveBlock } from '../../receipt/proof/collect.ts'
import { findHintMethod } from '../../receipt/proof/hint.ts'
import { ProofError } from '../../receipt/proof/lookup.ts'

/** Dependencies of an examination, besides the endpoint. */
export interface Examination {
  readonly clock: Clock
  readonly log: Log
  readonly work: Work
}

/** Time limit of one request, milliseconds. */
const QUESTION_MS = 10_000
const USELESS = 'unusable'
const HISTORY_COST = 'no history is stored from it, because it does not show which block is final'
const FINALIZED_COST = 'it does not support the `finalized` tag'
/** Maximum normal lead of a block over the clock, on every chain, seconds. */
const AHEAD_SEC = 5

/**
 * Examines the endpoint at position `index` of a chain: some thirty small requests, one after another. Never throws for
 * a failure of the endpoint.
 */
export async function examineEvm(chain: Chain, index: number, examination: Examination): Promise<readonly Finding[]> {
  const { work, ...shared } = examination
  const heads = createHeadTracker({ clock: shared.clock, blockTimeMs: chain.blockTimeMs })
  const endpoint = createEndpoint(index, { ...shared, chain, heads, timeoutMs: QUESTION_MS, random: () => 0 })
  const startedMs = shared.clock.monotonicMs()
  try {
    const id = await endpoint.request({ method: 'eth_chainId', params: [], parse: parseQuantity }, work)
    const ms = Math.round(shared.clock.monotonicMs() - startedMs)
    if (id !== BigInt(chain.id)) return [failureFinding('chain id', `it is chain ${id}`, USELESS)]
    const head = await readHeader(endpoint, { chainId: chain.id, at: 'latest' }, work)
    if (head === undefined) return [failureFinding('head', 'it has no newest block', USELESS)]
    const headFinding = examineHead(head, chain, shared.clock.now())
    return [
      okFinding('answers', `in ${ms} ms`),
      headFinding,
      ...(await examineFinality(endpoint, chain, work)),
      ...(await examineCalls(endpoint, work)),
      await examineState(endpoint, head.number, work),
      await examineLogs(endpoint, head.number, work),
      await examineOldLogs(endpoint, work),
      ...(await examineProofs(endpoint, { head, clock: shared.clock }, work)),
    ]
  } catch (error) {
    if (work.signal.aborted) throw error
    return [failureFinding('answers', formatReason(error), USELESS)]
  }
}

function examineHead(head: PinnedBlock, chain: Chain, nowMs: number): Finding {
  const ageSec = Math.round(nowMs / 1_000 - Number(head.timestampSec))
  const age = ageSec < 0 ? `${-ageSec} s ahead of this machine's clock` : `${ageSec} s old`
  const found = `block ${head.number}, ${age}`
  const maxSec = blockAgeMaxSec(chain)
  if (Math.abs(ageSec) > maxSec) {
    return failureFinding(
      'head',
      `${found}; at most ${maxSec} s are accepted`,
      'its answers are rejected until it catches up',
    )
  }
  if (ageSec >= -AHEAD_SEC) return okFinding('head', found)
  return warningFinding('head', found, 'one of the clocks is wrong; ages of prices are off by the difference')
}

/** Examines the chain's finality tag, and `finalized`, which verifiers use. */
async function examineFinality(
  endpoint: Parameters<typeof readHeader>[0],
  { id, finality }: Chain,
  work: Work,
): Promise<readonly Finding[]> {
  const examine = async (check: string, tag: 'safe' | 'finalized', cost: string): Promise<Finding> => {
    try {
      const block = await readHeader(endpoint, { chainId: id, at: tag }, work)
      return block === undefined
        ? warningFinding(check, `no ${tag} block`, cost)
        : okFinding(check, `block ${block.number}`)
    } catch (error) {
      if (work.signal.aborted) throw error
      return warningFinding(check, formatReason(error), cost)
    }
  }
  const tag = 'tag' in finality ? finality.tag : undefined
  return [
    ...(tag === undefined ? [] : [await examine('finality', tag, HISTORY_COST)]),
    await examine('finalized tag', 'finalized', FINALIZED_COST),
  ]
}

/** Returns an error's message. Messages of endpoint errors are ours and contain no address. */
export function formatReason(error: unknown): string {
  return error instanceof Error ? error.message : 'it failed'
}

/** Code that returns the remaining gas: GAS, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN. */
const GAS_LEFT: Hex = '0x5a60005260206000f3'
/** Below this limit, long lists take more pages: geth's own limit is 50 million, many providers allow far more. */
const GAS_RECOMMENDED = 25_000_000n

/**
 * Examines whether calls can run code that is not deployed, by state override or without an address, and with how much
 * gas. Every lens is called in one of these ways, so no lens is examined by itself.
 */
async function examineCalls(endpoint: Endpoint, work: Work): Promise<readonly Finding[]> {
  const call = { runtime: GAS_LEFT, data: '0x', block: 'latest' } as const
  const override = await tryAnswer(callByOverride(endpoint, call, work).then(parseQuantity), work.signal)
  const deployless = await tryAnswer(callDeployless(endpoint, call, work).then(parseQuantity), work.signal)
  const gas = override ?? deployless
  if (gas === undefined) {
    return [failureFinding('calls', 'neither state override nor calls without an address', 'unusable')]
  }
  return [
    override === undefined
      ? warningFinding('state override', 'no', 'a list takes three to ten requests instead of one')
      : okFinding('state override', 'yes'),
    deployless === undefined
      ? warningFinding('deployless calls', 'no', 'no fallback if state override fails')
      : okFinding('deployless calls', 'yes'),
    gas < GAS_RECOMMENDED
      ? warningFinding('gas of a call', formatMillions(gas), 'long lists take more requests')
      : okFinding('gas of a call', formatMillions(gas)),
  ]
}

function formatMillions(gas: bigint): string {
  return gas > 10n ** 12n ? 'without a limit' : `${Number(gas / 100_000n) / 10} million`
}

const NONE_COST = 'receipt=proof is 503 unless another endpoint proves'
const OLD_COST = 'receipt=proof of an older block is 503 unless another endpoint proves it'
const HINTS_COST = 'the proof of one position takes 16 round trips instead of 4'

/** Examines how old a block the endpoint proves, and how it lists what a call reads. Unclear results count as no. */
async function examineProofs(
  endpoint: Endpoint,
  { head, clock }: { readonly head: PinnedBlock; readonly clock: Clock },
  work: Work,
): Promise<readonly Finding[]> {
  const { chainId, hash: blockHash } = head
  /** The oldest block with a proof so far. */
  let oldest = head
  let reason = ''
  const canProve = async (at: bigint): Promise<boolean> => {
    try {
      const block = at === head.number ? head : await readHeader(endpoint, { chainId, at }, work)
      const isProven = block !== undefined && (await canProveBlock(endpoint, block.hash, work))
      if (isProven && block.number < oldest.number) oldest = block
      return isProven
    } catch (error) {
      if (work.signal.aborted) throw error
      if (error instanceof ProofError) reason = `, because ${error.message}`
      return false
    }
  }
  if (!(await canProve(head.number))) return [warningFinding('proofs', `none${reason}`, NONE_COST)]
  const depth = await searchDepth(head.number, canProve)
  const hintMethod = await findHintMethod(endpoint, { blockHash, nowMs: clock.monotonicMs() }, work)
  return [
    depth === 'all'
      ? okFinding('proofs', 'all blocks (archive)')
      : warningFinding('proofs', `${formatDepth(depth)}${formatAge(oldest, head)}`, OLD_COST),
    hintMethod === undefined ? warningFinding('proof hints', 'none', HINTS_COST) : okFinding('proof hints', hintMethod),
  ]
}

function formatDepth(depth: bigint): string {
  return depth === 0n ? 'at least the newest block' : `at least ${formatThousands(depth)} blocks`
}

/** Formats a block's age; empty for the newest block. */
function formatAge({ timestampSec }: PinnedBlock, head: PinnedBlock): string {
  const minutes = Number(head.timestampSec - timestampSec) / 60
  const units = [
    ['days', 1_440],
    ['hours', 60],
    ['minutes', 1],
  ] as const
  const unit = units.find(([, length]) => minutes >= 2 * length)
  return unit === undefined ? '' : `, ${Math.round(minutes / unit[1])} ${unit[0]}`
}

/** Numbers of blocks of logs to request at once, largest first. */
const WIDTHS = [100_000n, 10_000n, 2_000n, 500n, 100n, 10n, 1n] as const
const WIDTH_RECOMMENDED = 10_000n
/** The first block that can have logs. */
const FIRST_BLOCK = 1n
const STATE_COST =
  'at_block, at_time, daily snapshots and prices of older blocks are 503 unless another endpoint has them'
const LOGS_COST = 'events and profit and loss cannot be indexed from it'

/** Examines how far back the endpoint keeps state. Unclear results count as no. */
async function examineState(endpoint: Endpoint, head: bigint, work: Work): Promise<Finding> {
  const depth = await readStateDepth(endpoint, head, work)
  if (depth === 'all') return okFinding('past state', 'all blocks (archive)')
  const found = depth === 0n ? 'none' : `at least ${formatThousands(depth)} blocks`
  return warningFinding('past state', found, STATE_COST)
}

/** Examines how many blocks of logs the endpoint returns at once, near the newest block. */
async function examineLogs(endpoint: Endpoint, head: bigint, work: Work): Promise<Finding> {
  for (const width of WIDTHS) {
    const fromBlock = head > width ? head - width + 1n : 0n
    if (!(await isAnswered(readLogs(endpoint, { fromBlock, toBlock: head }, work), work.signal))) continue
    const blocks = head - fromBlock + 1n
    const found = `${formatThousands(blocks)} blocks at once${width === WIDTHS[0] ? ', or more' : ''}`
    if (width >= WIDTH_RECOMMENDED) return okFinding('logs', found)
    return warningFinding(
      'logs',
      found,
      `indexing takes about ${formatThousands(WIDTH_RECOMMENDED / width)} times the requests`,
    )
  }
  return warningFinding('logs', 'none', LOGS_COST)
}

/** Examines whether the endpoint still has logs of the first blocks. */
async function examineOldLogs(endpoint: Endpoint, work: Work): Promise<Finding> {
  const request = readLogs(endpoint, { fromBlock: FIRST_BLOCK, toBlock: FIRST_BLOCK }, work)
  if (await isAnswered(request, work.signal)) return okFinding('old logs', 'yes')
  return warningFinding('old logs', 'no', `older events are unavailable: ${LOGS_COST}`)
}

function readLogs(
  endpoint: Endpoint,
  { fromBlock, toBlock }: { readonly fromBlock: bigint; readonly toBlock: bigint },
  work: Work,
): Promise<number> {
  const filter = { address: UNUSED_ADDRESS, fromBlock: toHex(fromBlock), toBlock: toHex(toBlock) }
  return endpoint.request({ method: 'eth_getLogs', params: [filter], parse: countItems }, work)
}

function countItems(result: unknown): number {
  if (!Array.isArray(result)) throw new TypeError('Cannot read the logs: expected a list')
  return result.length
}

async function isAnswered(request: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  return (await tryAnswer(request, signal)) !== undefined
}

/** Awaits a request; undefined if it fails, for any reason but an abort. */
async function tryAnswer<T>(request: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (signal.aborted) throw error
    return undefined
  }
}

/** Formats a number with a comma between thousands. */
function formatThousands(count: bigint): string {
  return count.toLocaleString('en')
}

/** An address that owns nothing: neither a person nor a program has its key. */
const UNOWNED_ADDRESS = CLOCK_ADDRESS
/** Time limit of one request, milliseconds. */
const SOLANA_QUESTION_MS = 10_000
const UNKNOWN_ABILITIES = { listsTokenAccounts: undefined, searchesProgram: undefined }

/**
 * Examines one Solana endpoint: reads the cluster's clock, which every read includes, a wallet's token accounts and
 * obligations, as the lists of positions do. Nodes exclude the programs with the most accounts from searches.
 */
export async function examineSolana(
  { rpcUrls, ...options }: Config['solana'],
  index: number,
  { clock, log, work }: Examination,
): Promise<readonly Finding[]> {
  const client = createSolanaClient({ ...options, rpcUrls: rpcUrls.slice(index, index + 1), clock, log })
  const startedMs = clock.monotonicMs()
  try {
    const { slot, timestampSec } = await client.read((session) => session.accounts([]), { work })
    const ms = Math.round(clock.monotonicMs() - startedMs)
    const ageSec = Math.round(clock.now() / 1_000 - Number(timestampSec))
    return [
      okFinding('answers', `in ${ms} ms`),
      okFinding('head', `slot ${slot}, ${ageSec} s old`),
      ...(await examineSearches(client, work)),
    ]
  } catch (error) {
    if (work.signal.aborted) throw error
    const { cause } = error as { readonly cause?: unknown }
    const reason = cause instanceof Error ? cause.message : 'no valid answer in time'
    return [failureFinding('answers', reason, 'unusable')]
  } finally {
    client.close()
  }
}

async function examineSearches(client: SolanaClient, work: Work): Promise<readonly Finding[]> {
  const { programId: program } = KAMINO_MAINNET
  const { size, discriminator } = ACCOUNT_KINDS.obligation
  const holds = [
    { at: 0, bytes: Buffer.from(discriminator, 'hex') },
    { at: OBLIGATION_OWNER_OFFSET, bytes: decodeBase58Address(UNOWNED_ADDRESS) },
  ]
  const tryRead = <T>(task: (session: SolanaSession) => Promise<T>) =>
    tryAnswer(client.read(task, { work, budgetMs: SOLANA_QUESTION_MS }), work.signal)
  await tryRead((session) => session.tokenAccounts(UNOWNED_ADDRESS, { program: TOKEN_PROGRAM }))
  await tryRead((session) => session.programAccounts({ program, size, holds }))
  const [{ listsTokenAccounts, searchesProgram } = UNKNOWN_ABILITIES] = client.getCapabilities(program)
  return [
    listsTokenAccounts === true
      ? okFinding('token accounts', 'listed')
      : warningFinding('token accounts', formatRefusal(listsTokenAccounts), 'it cannot list positions of a wallet'),
    searchesProgram === true
      ? okFinding('program search', 'yes')
      : warningFinding(
          'program search',
          formatRefusal(searchesProgram),
          'obligations of a wallet are found only at their usual addresses',
        ),
  ]
}

function formatRefusal(offers: boolean | undefined): string {
  return offers === false ? 'refused' : 'no answer in time'
}
