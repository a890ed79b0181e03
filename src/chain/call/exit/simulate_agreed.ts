import { withTimeout } from '../../../lib/async/abort.ts'
import { limitWork, noteUnwitnessed, type Work } from '../../../lib/async/work.ts'
import { findMajority, LATE_MS, QUORUM } from '../../past/quorum.ts'
import { type ChainClient, ChainUnavailableError, type Endpoint, type ReadOptions } from '../../rpc/client.ts'
import { EndpointError } from '../../rpc/error.ts'
import type { ExitQuery, UnitOutcome } from './execute.ts'
import { simulateUnits } from './simulate.ts'

/** What one endpoint simulated. */
interface Simulation {
  readonly endpoint: number
  readonly units: readonly UnitOutcome[]
}

/**
 * Simulates units at two endpoints at the same time, or as many as the chain's quorum, and at further ones if they differ:
 * calls are compared by quorums, but simulations are not. Where a second one does not simulate a unit, or not within a second,
 * the word of the first counts, and is noted for the work. Throws `ChainUnavailableError` if endpoints contradict each other
 * and none is left to decide, or are fewer than the quorum; else as `ChainClient.read`.
 */
export async function simulateAgreed(
  client: ChainClient,
  query: ExitQuery,
  { work, ...reading }: ReadOptions,
): Promise<readonly UnitOutcome[]> {
  const { chain, agreed = 1, clock } = client
  const quorum = Math.max(QUORUM, agreed)
  const over = new AbortController()
  const until = limitWork(work, over.signal)
  /** Reader by index of an endpoint that is asked: no other asks it meanwhile, but for the first, which may ask any. */
  const readers = new Map<number, number>()
  const answers: Simulation[] = []

  const createAttempt =
    (reader: number) =>
    async (endpoint: Endpoint, within: Work): Promise<Simulation> => {
      const { index } = endpoint
      const hasAnswered = answers.some((each) => each.endpoint === index)
      if (reader > 0 && (hasAnswered || (readers.get(index) ?? reader) !== reader))
        throw new EndpointError('pruned', 'Another reader asks the endpoint')
      readers.set(index, reader)
      return { endpoint: index, units: await simulateUnits(endpoint, query, within) }
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
    await withTimeout(Promise.all(others), { ms: LATE_MS, clock }).catch(() => {})
    for (let reader = quorum; reader < quorum + chain.rpcUrls.length; reader++) {
      const countBefore = answers.length
      const isOver = vote(answers).witnesses >= quorum || clock.monotonicMs() >= query.untilMs
      if (!isOver) await askOther(reader)
      if (answers.length === countBefore) break
    }
    work.signal.throwIfAborted()
    return settle(client, answers, work)
  } finally {
    over.abort()
  }
}

/** Chooses what most endpoints simulated. */
function settle(client: ChainClient, answers: readonly Simulation[], work: Work): readonly UnitOutcome[] {
  const { chain, agreed = 1, log } = client
  const { units, witnesses, differing } = vote(answers)
  if (differing.size > 0) {
    const wrong = answers.filter((each) => witnesses < QUORUM || differing.has(each))
    const endpoints = wrong.map(({ endpoint }) => endpoint + 1)
    log.warn({ msg: 'RPC endpoints contradicted others about a simulation', chainId: chain.id, endpoints })
  }
  const told = `Cannot believe the simulation on chain ${chain.id} (${chain.name}): `
  if (differing.size > 0 && witnesses < QUORUM)
    throw new ChainUnavailableError('disputed', `${told}its endpoints contradict each other`)
  if (witnesses < agreed)
    throw new ChainUnavailableError('quorum', `${told}${agreed} endpoints must simulate the same, and ${witnesses} did`)
  if (witnesses < QUORUM) noteUnwitnessed(work, [chain.id])
  return units
}

/** What most endpoints say. */
interface Vote {
  readonly units: readonly UnitOutcome[]
  /** The fewest endpoints that a unit rests on. */
  readonly witnesses: number
  /** Those that simulated a unit in another way. */
  readonly differing: ReadonlySet<Simulation>
}

/**
 * Finds what came of each unit at most of the endpoints where it ran: they may grant different gas and time, and one that
 * did not run it is no witness of it.
 */
function vote(answers: readonly Simulation[]): Vote {
  const differing = new Set<Simulation>()
  let witnesses = answers.length
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
  return { units, witnesses, differing }
}

function toText(outcome: UnitOutcome): string {
  return JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}
