import type { Hex } from 'viem'
import type { BlockClaim } from '../../chain/receipt/block_claim.ts'
import { RpcRefusedError } from '../../chain/rpc/client.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { BlockLogs } from '../logs/block_logs.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import type { LogSource } from '../logs/source.ts'
import { isInReceipt, isSameList } from '../logs/witness.ts'
import { type HistoryLog, IncompleteError, toBlockRange } from '../stream.ts'

/** One endpoint, asked about single transactions and blocks. */
export interface Witness extends Pick<AdaptiveLogSource, 'ask'> {
  readonly source: Pick<LogSource, 'index'>
}

type Logs = readonly HistoryLog[]

interface EvidenceAnswer<T> {
  readonly witness: Witness
  readonly value: T | undefined
  /** Why it did not answer, if it may another time. */
  readonly failure: UpstreamError | undefined
}

/** What the endpoints that may be asked at the moment say about single logs that their answers differ in. */
export function createEvidence(witnesses: () => readonly Witness[]) {
  const receipts = new Map<string, Promise<EvidenceAnswer<Logs>>>()
  const blocks = new Map<number, Promise<Logs | undefined>>()

  /** The transaction's receipt from each of these; what was found is not asked for again. */
  function receiptsOf(
    asked: readonly Witness[],
    hash: Hex,
    signal: AbortSignal,
  ): Promise<readonly EvidenceAnswer<Logs>[]> {
    return Promise.all(
      asked.map((witness) => {
        const key = `${witness.source.index}:${hash}`
        const answer = receipts.get(key) ?? answerOf(witness, (source) => source.receipt(hash, signal), signal)
        receipts.set(key, answer)
        const forget = () => receipts.delete(key)
        answer.then(({ value }) => value ?? forget(), forget)
        return answer
      }),
    )
  }

  function provenLogs(number: number, signal: AbortSignal): Promise<Logs | undefined> {
    const proven = blocks.get(number) ?? proveBlock(witnesses(), number, signal)
    blocks.set(number, proven)
    const forget = () => blocks.delete(number)
    proven.then((logs) => logs ?? forget(), forget)
    return proven
  }

  /**
   * All logs of the transaction of a log, as two endpoints give them, or by proof, which counts as two. Undefined if they
   * differ. Throws `UpstreamError` if a second endpoint is silent.
   */
  async function logsOf(log: HistoryLog, signal: AbortSignal) {
    const all = witnesses()
    const answers: EvidenceAnswer<Logs>[] = []
    for (const asked of [all.slice(0, 2), all.slice(2)]) {
      answers.push(...(await receiptsOf(asked, log.transactionHash, signal)))
      const holding = answers.flatMap(({ value }) => (value !== undefined && isInReceipt(log, value) ? [value] : []))
      const agreed = holding.find((each, index) => holding.some((other, at) => at > index && isSameList(each, other)))
      if (agreed !== undefined) return { logs: timed(agreed, log), witnesses: 2 }
      const [only] = holding
      if (all.length === 1 && only !== undefined) return { logs: only, witnesses: 1 }
    }
    const logs = (await provenLogs(log.blockNumber, signal))?.filter(
      ({ transactionHash }) => transactionHash === log.transactionHash,
    )
    if (logs !== undefined && isInReceipt(log, logs))
      return { logs: timed(logs, log), witnesses: Math.min(2, all.length) }
    for (const { failure } of answers) if (failure !== undefined) throw failure
    return undefined
  }

  return {
    /**
     * True if the receipt of an endpoint that did not give the log holds it; of the only endpoint, its own. An endpoint
     * that is silent or has no such receipt says nothing.
     */
    async isVouched(log: HistoryLog, givers: ReadonlySet<number>, signal: AbortSignal): Promise<boolean> {
      const all = witnesses()
      const asked = all.length === 1 ? all : all.filter(({ source }) => !givers.has(source.index))
      const answers = await receiptsOf(asked, log.transactionHash, signal)
      return answers.some(({ value }) => value !== undefined && isInReceipt(log, value))
    },
    /**
     * Whether the receipts of its block hold the log: all of them together have the root that the block's header has, or
     * two endpoints give the same ones, and two endpoints have that header. Undefined if that cannot be shown.
     */
    async isProven(log: HistoryLog, signal: AbortSignal): Promise<boolean | undefined> {
      const logs = await provenLogs(log.blockNumber, signal)
      return logs === undefined ? undefined : isInReceipt(log, logs)
    },
    /**
     * All logs of the transactions of some logs, by transaction, and the fewest witnesses of any of them. Throws
     * `IncompleteError` if endpoints differ about one, `UpstreamError` if a second endpoint is silent.
     */
    async receipts(transactions: ReadonlyMap<Hex, HistoryLog>, signal: AbortSignal) {
      let witnesses = Number.POSITIVE_INFINITY
      const entries = await Promise.all(
        [...transactions].map(async ([hash, log]) => {
          const found = await logsOf(log, signal)
          if (found === undefined) throw new IncompleteError('receipt', toBlockRange(log))
          witnesses = Math.min(witnesses, found.witnesses)
          return [hash, found.logs] as const
        }),
      )
      return { logs: new Map(entries), witnesses }
    },
  }
}

/** Times are not compared, so none is taken from one endpoint alone; logs of one transaction have that of any of them. */
function timed(logs: readonly HistoryLog[], { timestampSec }: HistoryLog): readonly HistoryLog[] {
  return logs.map((log) => ({ ...log, timestampSec }))
}

/** Undefined if the endpoint does not have it, refuses the request, or is silent. */
async function answerOf<T>(
  witness: Witness,
  task: (source: LogSource) => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<EvidenceAnswer<T>> {
  try {
    return { witness, value: await witness.ask(task, signal), failure: undefined }
  } catch (error) {
    if (error instanceof RpcRefusedError) return { witness, value: undefined, failure: undefined }
    if (!(error instanceof UpstreamError)) throw error
    return { witness, value: undefined, failure: error }
  }
}

/** All logs of a block that two endpoints have, if its receipts have the root that its header says. */
async function proveBlock(
  witnesses: readonly Witness[],
  number: number,
  signal: AbortSignal,
): Promise<Logs | undefined> {
  const answers = await Promise.all(
    witnesses.map((witness) => answerOf(witness, (source) => source.claim(number, signal), signal)),
  )
  const claims = answers.flatMap(({ value }) => value ?? [])
  const needed = Math.min(2, witnesses.length)
  const block = claims.find((claim) => claims.filter((other) => isSameBlock(claim, other)).length >= needed)
  if (block === undefined) return undefined
  const same = claims.filter((claim) => isSameBlock(claim, block))
  const isAgreed = ({ receiptsRoot }: BlockClaim) =>
    same.filter((other) => other.receiptsRoot === receiptsRoot).length >= needed
  // The hash of a header that can be computed proves its root; of the others two must say the same.
  const rooted = same.find(({ isProven }) => isProven) ?? same.find(isAgreed)
  if (rooted === undefined) return undefined
  const found: BlockLogs[] = []
  for (const { witness, value } of answers) {
    if (value === undefined) continue
    const ask = (source: LogSource) => source.blockLogs({ ...rooted, number }, signal)
    const { value: given } = await answerOf(witness, ask, signal)
    if (given === undefined) continue
    // A chain may have receipts whose root is not computed here as there: then two endpoints that agree are believed.
    const isSame = found.some(({ logs }) => isSameList(logs, given.logs))
    if (given.root === rooted.receiptsRoot || isSame) return given.logs
    found.push(given)
  }
  return undefined
}

function isSameBlock(a: BlockClaim, b: BlockClaim): boolean {
  return (
    a.hash === b.hash &&
    a.transactions.length === b.transactions.length &&
    String(a.transactions) === String(b.transactions)
  )
}
