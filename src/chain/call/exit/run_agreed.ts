import { withTimeout } from '../../../lib/async/abort.ts'
import { limitWork, noteUnwitnessed, type Work } from '../../../lib/async/work.ts'
import { findMajority, LATE_MS, QUORUM } from '../../past/quorum.ts'
import { type ChainClient, ChainUnavailableError, type Endpoint, type ReadOptions } from '../../rpc/client.ts'
import { EndpointError } from '../../rpc/error.ts'
import type { ExitOutcome, UnitOutcome } from './execute.ts'

/** What came of units at one endpoint. */
interface EndpointOutcome extends ExitOutcome {
  readonly endpoint: number
}

/** Runs units at one endpoint. */
type RunUnits = (endpoint: Endpoint, work: Work) => Promise<ExitOutcome>

/** How units are compared. */
interface AgreementOptions extends ReadOptions {
  /** Monotonic time by the client's clock, milliseconds, after which no further endpoint is asked. */
  readonly untilMs: number
  /** True to wait for the other endpoints as long as the work may take, not only for a second. @default {false} */
  readonly isPatient?: boolean
}

/**
 * Runs units at two endpoints at the same time, or as many as the chain's quorum, and at further ones if they differ: for
 * what quorums do not compare, such as simulations. Where a second one does not run a unit, or not within a second, the word
 * of the first counts, and is noted for the work. Throws `ChainUnavailableError` if endpoints contradict each other and none
 * is left to decide, or are fewer than the quorum; else as `ChainClient.read`.
 */
export async function runAgreed(
  client: ChainClient,
  runUnits: RunUnits,
  { work, untilMs, isPatient = false, ...reading }: AgreementOptions,
): Promise<ExitOutcome> {
  const { chain, agreed = 1, clock } = client
  const quorum = Math.max(QUORUM, agreed)
  const over = new AbortController()
  const until = limitWork(work, over.signal)
  /** Reader by index of an endpoint that is asked: no other asks it meanwhile, but for the first, which may ask any. */
  const readers = new Map<number, number>()
  const answers: EndpointOutcome[] = []

  const createAttempt =
    (reader: number) =>
    async (endpoint: Endpoint, within: Work): Promise<EndpointOutcome> => {
      const { index } = endpoint
      const hasAnswered = answers.some((each) => each.endpoint === index)
      if (reader > 0 && (hasAnswered || (readers.get(index) ?? reader) !== reader))
        throw new EndpointError('pruned', 'Another reader asks the endpoint')
      readers.set(index, reader)
      return { endpoint: index, ...(await runUnits(endpoint, within)) }
    }
  const release = (reader: number) => {
    for (const [index, owner] of readers) if (owner === reader) readers.delete(index)
  }
  const askOther = async (reader: number): Promise<void> => {
    const limited = { ...reading, work: until, isCompared: true }
    const other = await client.read(createAttempt(reader), limited).catch(() => undefined)
    release(reader)
    if (other !== undefined && answers.every(({ endpoint }) => endpoint !== other.endpoint)) answers.push(other)
  }

  try {
    const first = client.read(createAttempt(0), { ...reading, work, isCompared: true })
    const others = Array.from({ length: Math.min(quorum, chain.rpcUrls.length) - 1 }, (_, index) => askOther(index + 1))
    const own = await first
    release(0)
    if (answers.every(({ endpoint }) => endpoint !== own.endpoint)) answers.unshift(own)
    const lateMs = isPatient ? Math.max(0, untilMs - clock.monotonicMs()) : LATE_MS
    await withTimeout(Promise.all(others), { ms: lateMs, clock }).catch(() => {})
    for (let reader = quorum; reader < quorum + chain.rpcUrls.length; reader++) {
      const countBefore = answers.length
      const isOver = vote(answers).witnesses >= quorum || clock.monotonicMs() >= untilMs
      if (!isOver) await askOther(reader)
      if (answers.length === countBefore) break
    }
    work.signal.throwIfAborted()
    return settle(client, answers, work)
  } finally {
    over.abort()
  }
}

/** Chooses what came of units at most endpoints. */
function settle(client: ChainClient, answers: readonly EndpointOutcome[], work: Work): ExitOutcome {
  const { chain, agreed = 1, log } = client
  const { witnesses, differing, ...outcome } = vote(answers)
  if (differing.size > 0) {
    const wrong = answers.filter((each) => witnesses < QUORUM || differing.has(each))
    const endpoints = wrong.map(({ endpoint }) => endpoint + 1)
    log.warn({ msg: 'RPC endpoints contradicted others about an exit', chainId: chain.id, endpoints })
  }
  const told = `Cannot believe the exit on chain ${chain.id} (${chain.name}): `
  if (differing.size > 0 && witnesses < QUORUM)
    throw new ChainUnavailableError('disputed', `${told}its endpoints contradict each other`)
  if (witnesses < agreed)
    throw new ChainUnavailableError(
      'quorum',
      `${told}${agreed} endpoints must run it with the same outcome, and ${witnesses} did`,
    )
  if (witnesses < QUORUM) noteUnwitnessed(work, [chain.id])
  return outcome
}

/** What most endpoints say. */
interface Vote extends ExitOutcome {
  /** The fewest endpoints that a unit rests on. */
  readonly witnesses: number
  /** Those where something else came of a unit, or other code stood at the wallet. */
  readonly differing: ReadonlySet<EndpointOutcome>
}

/**
 * Finds what came of each unit at most of the endpoints where it ran: they may grant different gas and time, and one that
 * did not run it is no witness of it.
 */
function vote(answers: readonly EndpointOutcome[]): Vote {
  const coded = findMajority(answers, (a, b) => a.hasOwnCode === b.hasOwnCode)
  const differing = new Set(answers.filter((each) => !coded.includes(each)))
  let witnesses = coded.length
  const units = (answers[0]?.units ?? []).map((unit, index): UnitOutcome => {
    const ballots = answers.flatMap((answer) => {
      const outcome = answer.units[index]
      return outcome?.kind === 'run' ? [{ answer, outcome, text: toText(outcome) }] : []
    })
    const majority = findMajority(ballots, (a, b) => a.text === b.text)
    const [chosen] = majority
    if (chosen === undefined) return unit
    witnesses = Math.min(witnesses, majority.length)
    for (const { answer, text } of ballots) if (text !== chosen.text) differing.add(answer)
    return chosen.outcome
  })
  return { units, hasOwnCode: coded[0]?.hasOwnCode ?? false, witnesses, differing }
}

function toText(outcome: UnitOutcome): string {
  return JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}
