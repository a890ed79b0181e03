import { type Hex, toFunctionSelector, toHex } from 'viem'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import { isCacheableForever, readByQuorum } from '../../../chain/past/quorum.ts'
import { type ChainClient, isUnavailable } from '../../../chain/rpc/client.ts'
import { parseLogs } from '../../../history/logs/parse_logs.ts'
import { IncompleteError } from '../../../history/stream.ts'
import { forEachLimit } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { type CometTarget, isBaseLog } from '../event/log.ts'
import type { StillRange } from '../event/proof.ts'

const USER_BASIC = toFunctionSelector('userBasic(address)')
const BUDGET_MS = 4_000
/** Reads of one proof that are in flight. */
const AT_ONCE = 8
/** Most ranges of one proof, and changes without a log that are located in it: the next one goes on. */
const LIMITS = { ranges: 1_000, silent: 64 }
/** A life that cannot be told does not become tellable soon. */
const RETRY_SEC = 600

/** The account whose principal is read. */
interface PrincipalQuery {
  readonly client: ChainClient
  readonly target: CometTarget
  readonly wallet: Hex
  readonly clock: Clock
}

/** What a proof found. */
interface Standing {
  /** Blocks of changes without a log, ascending. */
  readonly silent: readonly number[]
  /** True if no part of it rests on the word of one endpoint among several. */
  readonly isAgreed: boolean
  /** The block up to which it goes, if not to the end. */
  readonly until?: number
}

/** A query with a callback for the endpoints that gave an answer. */
interface WitnessedQuery extends PrincipalQuery {
  readonly onWitnesses: (endpoints: readonly number[]) => void
}

/**
 * Proves that a wallet's principal stood still in ranges without a log of its base, at final blocks, oldest first. Where it
 * did not, the block of each change is searched by bisecting: a transfer of base between accounts that owe logs nothing, so
 * a change in a block without a log of the wallet is one. A stranger may pay a debt with such transfers, so one proof locates
 * `limits` of them and says how far it came. Returns their blocks. Throws `IncompleteError` with the check `principal` for a
 * block that has a log of the wallet which its history does not have, and `UnavailableError` if no endpoint keeps the past.
 */
export async function proveStanding(
  account: PrincipalQuery,
  ranges: readonly StillRange[],
  work: Work,
  limits: typeof LIMITS = LIMITS,
): Promise<Standing> {
  const { target, client } = account
  let isAgreed = true
  const query: WitnessedQuery = {
    ...account,
    onWitnesses(endpoints) {
      if (!isCacheableForever(client, endpoints.length)) isAgreed = false
    },
  }
  const proving = ranges.slice(0, limits.ranges)
  /** Last proven block by the place of a range that was not finished. */
  const unfinished = new Map<number, number>()
  const silent: number[] = []
  try {
    await forEachLimit(
      [...proving.entries()],
      AT_ONCE,
      async ([place, { after, until }], within) => {
        let low = after ?? Math.max(0, target.startBlock - 1)
        if (silent.length >= limits.silent) return void unfinished.set(place, low)
        let [principal, last] = await Promise.all([
          after === undefined ? 0n : readPrincipal(query, low, within),
          readPrincipal(query, until, within),
        ])
        while (principal !== last) {
          if (silent.length >= limits.silent) return void unfinished.set(place, low)
          const changed = await findChange(query, { low, high: until, principal }, within)
          if (await hasLog(query, changed, within)) {
            throw new IncompleteError('principal', { fromBlock: changed, toBlock: changed })
          }
          silent.push(changed)
          low = changed
          principal = await readPrincipal(query, changed, within)
        }
      },
      work,
    )
  } catch (error) {
    if (!isUnavailable(error, 'pruned')) throw error
    throw createUntoldError(query, error)
  }
  const [first] = [...unfinished].sort(([a], [b]) => a - b)
  const until = first?.[1] ?? (ranges.length > proving.length ? proving.at(-1)?.until : undefined)
  return { silent: silent.sort((a, b) => a - b), isAgreed, ...(until !== undefined && { until }) }
}

function createUntoldError({ client, target, wallet }: PrincipalQuery, cause: unknown): UnavailableError {
  const { id, name } = client.chain
  return new UnavailableError(
    `Cannot tell what wallet ${wallet} did in the market ${target.contract} of chain ${id} (${name}) because no endpoint ` +
      'keeps the state of its blocks: transfers of a debt log nothing, so its events are known to be complete only if its ' +
      `principal stands still between them. Set an endpoint with archive state in RPC_URL_${id}, or ask for its snapshots`,
    { retryAfterSec: RETRY_SEC, cause },
  )
}

/** The first block found after `low` at which the principal is another one; it is one at `high`. */
async function findChange(
  query: WitnessedQuery,
  range: { readonly low: number; readonly high: number; readonly principal: bigint },
  work: Work,
): Promise<number> {
  let { low, high } = range
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if ((await readPrincipal(query, middle, work)) === range.principal) low = middle
    else high = middle
  }
  return high
}

/** Base of a wallet at a final block, in units of principal: negative if it owes. Throws as `readByQuorum`. */
async function readPrincipal(
  { client, target, wallet, clock, onWitnesses }: WitnessedQuery,
  number: number,
  work: Work,
): Promise<bigint> {
  const question = { chainId: client.chain.id, number: BigInt(number) }
  const block = await client.read((endpoint, within) => readBlock(endpoint, question, within), { work, past: 'header' })
  const calls = [{ to: target.contract, data: encodeCall(USER_BASIC, wallet) }]
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      const { results } = await readMulticall(endpoint, { calls, block, isLight: true, clock }, within)
      const [answer = '0x'] = results
      // The market does not stand yet.
      return answer.length < 66 ? 0n : BigInt.asIntN(104, decodeWord(answer, 0))
    },
    { work, budgetMs: BUDGET_MS, past: block, what: `a principal at block ${number}`, toText: String },
  )
  onWitnesses(endpoints)
  return value
}

/** True if an endpoint has a log of the wallet's base in a final block. Throws as `ChainClient.read`. */
async function hasLog(
  { client, target, wallet, onWitnesses }: WitnessedQuery,
  number: number,
  work: Work,
): Promise<boolean> {
  const at = toHex(number)
  const params = [{ address: target.contract, fromBlock: at, toBlock: at }]
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      const logs = await endpoint.request({ method: 'eth_getLogs', params, parse: parseLogs }, within)
      return logs.some((log) => isBaseLog(target, log, wallet))
    },
    { work, budgetMs: BUDGET_MS, what: `the logs of block ${number}`, toText: String },
  )
  onWitnesses(endpoints)
  return value
}
