import { timeoutSignal } from '../../lib/async/abort.ts'
import { TIMED_OUT, withTimeout } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Readiness } from '../openapi/readiness.ts'

/** Asks one dependency whether it answers: true, false, or why not, for everybody. May throw instead of false. */
export type Probe = (signal: AbortSignal) => Promise<boolean | string>

/** How far the history of one chain is. */
export type HistoryProgress = Readiness['history'][string]

/** How far the triggers of a chain are evaluated that wait for the same finality. */
export type TriggerProgress = Readiness['triggers'][number]

/** What readiness depends on. */
export interface Probes {
  readonly database: Probe
  /** By chain id. One that answers is enough; with none configured the database alone decides. */
  readonly chains: ReadonlyMap<number, Probe>
  /** By chain id; only told, nothing depends on it. */
  readonly history?: () => Promise<Readonly<Record<string, HistoryProgress>>>
  /** By chain id, of those where several endpoints must give the same bytes; only told. */
  readonly quorum?: () => Readiness['quorum']
  /** Of all processes; only told. */
  readonly triggers?: () => Promise<Readiness['triggers']>
  /** The standby that answers long reads; only told. Absent if none is configured. */
  readonly standby?: (() => Promise<Readiness['standby']>) | undefined
  /** By endpoint, in the order of the configuration; only told. Absent if Solana is not served. */
  readonly solana?: (() => Readiness['solana']) | undefined
}

interface Asked extends Readiness {
  readonly ready: boolean
}

/** Longest wait for one dependency. */
const PROBE_TIMEOUT_MS = 2_000
/** How long an answer is kept: `/readyz` needs no key, so asking it often must cost nothing. */
const KEPT_MS = 1_000

/** Asks all dependencies at once; requests that come while they are asked, or soon after, share the answer. */
export function createReadiness(probes: Probes, clock: Clock): () => Promise<Asked> {
  let askedMs = Number.NEGATIVE_INFINITY
  let answer: Promise<Asked> | undefined
  return () => {
    if (answer === undefined || clock.monotonicMs() - askedMs > KEPT_MS) {
      askedMs = clock.monotonicMs()
      answer = ask(probes)
    }
    return answer
  }
}

async function ask({
  database,
  chains,
  history = async () => ({}),
  quorum = () => ({}),
  triggers = async () => [],
  solana = () => [],
  standby = async () => null,
}: Probes): Promise<Asked> {
  const coverage = history().catch(() => ({}))
  const copy = standby()
  const watching = triggers().catch(() => [])
  const [databaseReady, ...chainsReady] = await Promise.all([
    answers(database),
    ...[...chains.values()].map((probe) => answers(probe)),
  ])
  const byId = Object.fromEntries([...chains.keys()].map((id, index) => [String(id), chainsReady[index] === true]))
  const chainReady = chains.size === 0 || chainsReady.includes(true)
  const isThere = databaseReady === true
  const ready = isThere && chainReady
  // Asked only of a database that answers.
  const lines = isThere ? await watching : []
  return {
    ready,
    reasons: [
      ...reasonsOf('database', databaseReady, 'it does not answer'),
      ...[...chains.keys()].flatMap((id, index) => reasonsOf(`chain ${id}`, chainsReady[index], NO_ENDPOINT)),
      ...lines.flatMap(blindnessOf),
    ],
    database: isThere,
    chains: byId,
    history: isThere ? await coverage : {},
    quorum: quorum(),
    triggers: lines,
    solana: solana(),
    standby: await copy,
  }
}

const NO_ENDPOINT = 'no endpoint answers from a recent block'

function reasonsOf(part: string, answer: boolean | string | undefined, usual: string): Readiness['reasons'] {
  return answer === true ? [] : [{ part, reason: typeof answer === 'string' ? answer : usual }]
}

function blindnessOf({ chain_id, blind_since }: TriggerProgress): Readiness['reasons'] {
  if (blind_since === null) return []
  return [{ part: `triggers of chain ${chain_id}`, reason: `not evaluated since ${blind_since}` }]
}

async function answers(probe: Probe): Promise<boolean | string> {
  const signal = timeoutSignal(PROBE_TIMEOUT_MS)
  try {
    return await withTimeout(PROBE_TIMEOUT_MS, probe(signal))
  } catch (error) {
    if (error === TIMED_OUT || signal.aborted) return `no answer after ${PROBE_TIMEOUT_MS / 1_000} s`
    // The client of the dependency logs why.
    return false
  }
}
