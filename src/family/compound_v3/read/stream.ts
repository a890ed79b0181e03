import { hash } from 'node:crypto'
import { type Hex, toFunctionSelector } from 'viem'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall } from '../../../chain/call/words.ts'
import type { Stream } from '../../../history/stream.ts'
import type { Clock } from '../../../lib/clock.ts'
import { PendingError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import { LENDING_EVENTS, type LendingEvent, readAllLendingEvents } from '../../lending/lending_event.ts'
import { readAtFinal } from '../../lending/read_at_final.ts'
import { decodeLogs } from '../event/decode.ts'
import { type CometTarget, createFilters } from '../event/log.ts'
import { checkCollaterals, listStillRanges } from '../event/proof.ts'
import { proveStanding } from './principal.ts'

/** Name of the stream in the database; never changes. */
const NAME = 'compound_v3_lending'
const USER_COLLATERAL = toFunctionSelector('userCollateral(address,address)')
/** Wallets whose proofs are remembered. */
const PROOFS_MAX = 10_000

/** A proven life: its last block, and what was proven up to it. */
interface ProvenLife {
  readonly toBlock: number
  /** Hash of the places of its rows up to that block. */
  readonly rows: string
}

/**
 * Creates the stream of what wallets did in markets. Its rows are proven: collaterals add up to what the market stores, and
 * the principal of the base stands still from one block of a log to the next, but for transfers of a debt, which log
 * nothing and are located.
 */
export function createCometStream({
  clock,
  limits,
}: {
  readonly clock: Clock
  readonly limits?: Parameters<typeof proveStanding>[3]
}): Stream<LendingEvent, CometTarget> {
  /** By market and wallet. Final blocks do not change: what was proven once is proven as long as its rows are the same. */
  const proven = createLru<ProvenLife>({ entriesMax: PROOFS_MAX })
  return {
    name: NAME,
    table: LENDING_EVENTS,
    filters: createFilters,
    decode: decodeLogs,
    async verify(target, { subject: wallet, client, db, toBlock }, work) {
      const rows = await readAllLendingEvents(db, { target, stream: NAME, wallet, toBlock })
      if (rows === undefined) return
      const balances = await readAtFinal(
        client,
        { chainId: target.chainId, number: toBlock },
        async (endpoint, block, within) => {
          const calls = target.collaterals.map((asset) => ({
            to: target.contract,
            data: encodeCall(USER_COLLATERAL, wallet, asset),
          }))
          const { results } = await readMulticall(endpoint, { calls, block, clock }, within)
          // A market that does not stand yet answers nothing.
          const toBalance = (answer: Hex = '0x') => (answer.length < 66 ? 0n : decodeWord(answer, 0))
          return new Map(target.collaterals.map((asset, index) => [asset, toBalance(results[index])]))
        },
        work,
      )
      if (balances !== undefined) checkCollaterals(target, rows, { balances, toBlock })
      const key = `${target.chainId}:${target.contract}:${wallet}`
      const before = proven.get(key)
      const isSame = before !== undefined && before.toBlock <= toBlock && before.rows === hashRows(rows, before.toBlock)
      const ranges = listStillRanges(target, rows, toBlock)
      const left = isSame
        ? ranges.flatMap((range) => (range.until > before.toBlock ? clip(range, before) : []))
        : ranges
      const standing = await proveStanding({ client, target, wallet, clock }, left, work, limits)
      const { isAgreed, until = toBlock } = standing
      // Nothing is remembered on one endpoint's word: it is asked again when there may be another.
      if (isAgreed) proven.set(key, { toBlock: until, rows: hashRows(rows, until) })
      if (until < toBlock) throw createPendingError(target, { wallet, until, toBlock })
    },
  }
}

function createPendingError(
  { chainId, contract, startBlock }: CometTarget,
  { wallet, until, toBlock }: { readonly wallet: Hex; readonly until: number; readonly toBlock: number },
): PendingError {
  const percent = Math.floor((100 * Math.max(0, until - startBlock)) / Math.max(1, toBlock - startBlock))
  return new PendingError(
    `Cannot tell yet what wallet ${wallet} did in the market ${contract} of chain ${chainId}: it is proven up to block ` +
      `${until} of ${toBlock}, ask again`,
    { retryAfterSec: 1, progress: { percent } },
  )
}

/** The part of a range that was not proven yet. */
function clip<Range extends { readonly after: number | undefined }>(range: Range, { toBlock }: ProvenLife): Range {
  return { ...range, after: Math.max(range.after ?? 0, toBlock) }
}

function hashRows(rows: readonly LendingEvent[], toBlock: number): string {
  const until = rows.filter(({ block }) => block <= toBlock)
  return hash('sha256', until.map(({ block, logIndex, leg }) => `${block}:${logIndex}:${leg}`).join())
}
