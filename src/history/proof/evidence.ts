import type { Hex } from 'viem'
import type { BlockClaim } from '../../chain/receipt/header.ts'
import { RpcRefusedError } from '../../chain/rpc/client.ts'
import type { Work } from '../../lib/async/work.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { BlockLogs } from '../logs/block_logs.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import type { LogSource } from '../logs/source.ts'
import { isInReceipt, isSameList } from '../logs/witness.ts'
import { type HistoryLog, IncompleteError, toBlockRange } from '../stream.ts'

/** One endpoint as a source of single transactions and blocks. */
export interface Witness extends Pick<AdaptiveLogSource, 'ask'> {
  readonly source: Pick<LogSource, 'index'>
}

type Logs = readonly HistoryLog[]

interface EvidenceAnswer<T> {
  readonly witness: Witness
  readonly value: T | undefined
  /** The error of a missing answer, if a retry may succeed. */
  readonly failure: UpstreamError | undefined
}

/** Creates the evidence about disputed logs: receipts and proven blocks of the endpoints that are usable now. */
export function createEvidence(witnesses: () => readonly Witness[]) {
  const receipts = new Map<string, Promise<EvidenceAnswer<Logs>>>()
  const blocks = new Map<number, Promise<Logs | undefined>>()

  /** Reads the transaction's receipt from each of these endpoints; a receipt is read once. */
  function readReceipts(
    askedWitnesses: readonly Witness[],
    hash: Hex,
    work: Work,
  ): Promise<readonly EvidenceAnswer<Logs>[]> {
    return Promise.all(
      askedWitnesses.map((witness) => {
        const key = `${witness.source.index}:${hash}`
        const answer = receipts.get(key) ?? askWitness(witness, (source) => source.receipt(hash, work), work.signal)
        receipts.set(key, answer)
        const forget = () => receipts.delete(key)
        answer.then(({ value }) => value ?? forget(), forget)
        return answer
      }),
    )
  }

  function readProvenLogs(number: number, work: Work): Promise<Logs | undefined> {
    const proven = blocks.get(number) ?? proveBlock(witnesses(), number, work)
    blocks.set(number, proven)
    const forget = () => blocks.delete(number)
    proven.then((logs) => logs ?? forget(), forget)
    return proven
  }

  /**
   * Reads all logs of a log's transaction, confirmed by two endpoints, or by proof, which counts as two. Undefined if
   * the endpoints differ. Throws `UpstreamError` if a second endpoint is silent.
   */
  async function readTransactionLogs(log: HistoryLog, work: Work) {
    const all = witnesses()
    const answers: EvidenceAnswer<Logs>[] = []
    for (const askedWitnesses of [all.slice(0, 2), all.slice(2)]) {
      answers.push(...(await readReceipts(askedWitnesses, log.transactionHash, work)))
      const receiptsWithLog = answers.flatMap(({ value }) =>
        value !== undefined && isInReceipt(log, value) ? [value] : [],
      )
      const agreed = receiptsWithLog.find((each, index) =>
        receiptsWithLog.some((other, otherIndex) => otherIndex > index && isSameList(each, other)),
      )
      if (agreed !== undefined) return { logs: withTime(agreed, log), witnesses: 2 }
      const [onlyReceipt] = receiptsWithLog
      if (all.length === 1 && onlyReceipt !== undefined) return { logs: onlyReceipt, witnesses: 1 }
    }
    const logs = (await readProvenLogs(log.blockNumber, work))?.filter(
      ({ transactionHash }) => transactionHash === log.transactionHash,
    )
    if (logs !== undefined && isInReceipt(log, logs))
      return { logs: withTime(logs, log), witnesses: Math.min(2, all.length) }
    for (const { failure } of answers) if (failure !== undefined) throw failure
    return undefined
  }

  return {
    /**
     * True if a receipt of an endpoint that did not give the log contains it; with a single endpoint, its own receipt.
     * An endpoint that is silent or has no such receipt does not count.
     */
    async isVouched(log: HistoryLog, givers: ReadonlySet<number>, work: Work): Promise<boolean> {
      const all = witnesses()
      const askedWitnesses = all.length === 1 ? all : all.filter(({ source }) => !givers.has(source.index))
      const answers = await readReceipts(askedWitnesses, log.transactionHash, work)
      return answers.some(({ value }) => value !== undefined && isInReceipt(log, value))
    },
    /**
     * True if the proven receipts of the block contain the log: they have the receipts root of the block's header, or
     * two endpoints give the same receipts, and two endpoints have that header. Undefined without a proof.
     */
    async isProven(log: HistoryLog, work: Work): Promise<boolean | undefined> {
      const logs = await readProvenLogs(log.blockNumber, work)
      return logs === undefined ? undefined : isInReceipt(log, logs)
    },
    /**
     * All logs of the transactions of some logs, by transaction, and the lowest number of witnesses. Throws
     * `IncompleteError` if endpoints differ about a transaction, `UpstreamError` if a second endpoint is silent.
     */
    async receipts(transactions: ReadonlyMap<Hex, HistoryLog>, work: Work) {
      let witnesses = Number.POSITIVE_INFINITY
      const entries = await Promise.all(
        [...transactions].map(async ([hash, log]) => {
          const transactionLogs = await readTransactionLogs(log, work)
          if (transactionLogs === undefined) throw new IncompleteError('receipt', toBlockRange(log))
          witnesses = Math.min(witnesses, transactionLogs.witnesses)
          return [hash, transactionLogs.logs] as const
        }),
      )
      return { logs: new Map(entries), witnesses }
    },
  }
}

/** Sets the time of the disputed log: times of receipts are not compared, so they are not trusted. */
function withTime(logs: readonly HistoryLog[], { timestampSec }: HistoryLog): readonly HistoryLog[] {
  return logs.map((log) => ({ ...log, timestampSec }))
}

/** Runs a read at a witness. `value` is undefined if the endpoint has none, refuses the request, or is silent. */
async function askWitness<T>(
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

/** All logs of a block that two endpoints have, if its receipts match the receipts root of its header. */
async function proveBlock(witnesses: readonly Witness[], number: number, work: Work): Promise<Logs | undefined> {
  const answers = await Promise.all(
    witnesses.map((witness) => askWitness(witness, (source) => source.claim(number, work), work.signal)),
  )
  const claims = answers.flatMap(({ value }) => value ?? [])
  const claimsMin = Math.min(2, witnesses.length)
  const block = claims.find((claim) => claims.filter((other) => isSameBlock(claim, other)).length >= claimsMin)
  if (block === undefined) return undefined
  const sameClaims = claims.filter((claim) => isSameBlock(claim, block))
  const isAgreed = ({ receiptsRoot }: BlockClaim) =>
    sameClaims.filter((other) => other.receiptsRoot === receiptsRoot).length >= claimsMin
  // A recomputed header hash proves the root; otherwise two endpoints must agree on it.
  const rootedClaim = sameClaims.find(({ isProven }) => isProven) ?? sameClaims.find(isAgreed)
  if (rootedClaim === undefined) return undefined
  const seenBlockLogs: BlockLogs[] = []
  for (const { witness, value } of answers) {
    if (value === undefined) continue
    const ask = (source: LogSource) => source.blockLogs({ ...rootedClaim, number }, work)
    const { value: blockLogs } = await askWitness(witness, ask, work.signal)
    if (blockLogs === undefined) continue
    // A chain may compute its receipts root differently: then trust two endpoints that agree.
    const isSame = seenBlockLogs.some(({ logs }) => isSameList(logs, blockLogs.logs))
    if (blockLogs.root === rootedClaim.receiptsRoot || isSame) return blockLogs.logs
    seenBlockLogs.push(blockLogs)
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
