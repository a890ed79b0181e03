import { TIMED_OUT, withTimeout } from '../../lib/async/abort.ts'
import { shareReads } from '../../lib/async/cache.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Readiness } from '../openapi/readiness.ts'

/** Checks whether one dependency answers: true, false, or a public reason why not. May throw instead of false. */
export type Probe = (work: Work) => Promise<boolean | string>

/** Progress of the history of one chain. */
export type HistoryProgress = Readiness['history'][string]

/** Progress of the triggers of one chain and finality. */
export type TriggerProgress = Readiness['triggers'][number]

/** Checks and reports for `/readyz`. */
export interface Probes {
  readonly database: Probe
  /** By chain id. One chain that answers suffices; with none configured the database alone decides. */
  readonly chains: ReadonlyMap<number, Probe>
  /** What work in the background lacks; reported only. */
  readonly background?: () => Promise<Readiness['reasons']>
  /** By chain id; reported only, readiness does not depend on it. */
  readonly history?: () => Promise<Readonly<Record<string, HistoryProgress>>>
  /** By id of chains with a quorum of endpoints; reported only. */
  readonly quorum?: () => Readiness['quorum']
  /** Of all processes; reported only. */
  readonly triggers?: () => Promise<Readiness['triggers']>
  /** The standby that answers long reads; reported only. Absent if none is configured. */
  readonly standby?: (() => Promise<Readiness['standby']>) | undefined
  /** By endpoint, in the order of the configuration; reported only. Absent if Solana is not served. */
  readonly solana?: (() => Readiness['solana']) | undefined
}

interface ReadinessResult extends Readiness {
  readonly ready: boolean
}

/** Longest wait for one dependency. */
const PROBE_TIMEOUT_MS = 2_000
/** How long requests share what a page reads: pages require no key, so frequent requests must be cheap. */
export const SHARED_MS = 1_000

/**
 * Creates a reader that probes all dependencies at once; requests during the probes, or soon after, share the answer.
 */
export function createReadiness(probes: Probes, clock: Clock): () => Promise<ReadinessResult> {
  return shareReads(() => runProbes(probes, clock), { ms: SHARED_MS, clock })
}

async function runProbes(
  {
    database,
    chains,
    background = async () => [],
    history = async () => ({}),
    quorum = () => ({}),
    triggers = async () => [],
    solana = () => [],
    standby = async () => null,
  }: Probes,
  clock: Clock,
): Promise<ReadinessResult> {
  const historyProgress = history().catch(() => ({}))
  const standbyStatus = standby()
  const triggerProgress = triggers().catch(() => [])
  const [databaseReady, ...chainsReady] = await Promise.all([
    runProbe(database, clock),
    ...[...chains.values()].map((probe) => runProbe(probe, clock)),
  ])
  const byId = Object.fromEntries([...chains.keys()].map((id, index) => [String(id), chainsReady[index] === true]))
  const chainReady = chains.size === 0 || chainsReady.includes(true)
  const isDatabaseReady = databaseReady === true
  const ready = isDatabaseReady && chainReady
  // Triggers and work in the background need a database that answers.
  const [partitions, lacks] = isDatabaseReady ? await Promise.all([triggerProgress, background()]) : [[], []]
  return {
    ready,
    reasons: [
      ...toReasons('database', databaseReady, 'it does not answer'),
      ...[...chains.keys()].flatMap((id, index) => toReasons(`chain ${id}`, chainsReady[index], NO_ENDPOINT)),
      ...lacks,
      ...partitions.flatMap(toBlindReasons),
    ],
    database: isDatabaseReady,
    chains: byId,
    history: isDatabaseReady ? await historyProgress : {},
    quorum: quorum(),
    triggers: partitions,
    solana: solana(),
    standby: await standbyStatus,
  }
}

const NO_ENDPOINT = 'no endpoint answers from a recent block'

function toReasons(part: string, answer: boolean | string | undefined, usual: string): Readiness['reasons'] {
  return answer === true ? [] : [{ part, reason: typeof answer === 'string' ? answer : usual }]
}

function toBlindReasons({ chain_id, blind_since }: TriggerProgress): Readiness['reasons'] {
  if (blind_since === null) return []
  return [{ part: `triggers of chain ${chain_id}`, reason: `not evaluated since ${blind_since}` }]
}

async function runProbe(probe: Probe, clock: Clock): Promise<boolean | string> {
  const work = createWork(clock.timeout(PROBE_TIMEOUT_MS))
  try {
    return await withTimeout(probe(work), { ms: PROBE_TIMEOUT_MS, clock })
  } catch (error) {
    if (error === TIMED_OUT || work.signal.aborted) return `no answer after ${PROBE_TIMEOUT_MS / 1_000} s`
    // The dependency's client logs the reason.
    return false
  }
}
