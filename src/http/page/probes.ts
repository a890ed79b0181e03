import type { Clock } from '../../lib/clock.ts'

/** Asks one dependency whether it answers: true, false, or why not, for everybody. May throw instead of false. */
export type Probe = (signal: AbortSignal) => Promise<boolean | string>

/** How far the history of one chain is. */
export interface HistoryProgress {
  /** True if a block was replaced that had been final: somebody must look. */
  readonly stopped: boolean
  /** Of the history of everybody, as far as it was asked for; null if it never was. */
  readonly percent: number | null
  /** Why it could not go on when somebody asked this process last; null if it could. */
  readonly trouble: string | null
}

/** Endpoints of a chain that lately kept a quorum from agreeing, by their place in the configuration, from 1. */
interface QuorumDissents {
  readonly contradicted: readonly number[]
  readonly absent: readonly number[]
}

/** What readiness depends on. */
export interface Probes {
  readonly database: Probe
  /** By chain id. One that answers is enough; with none configured the database alone decides. */
  readonly chains: ReadonlyMap<number, Probe>
  /** By chain id; only told, nothing depends on it. */
  readonly history?: () => Promise<Readonly<Record<string, HistoryProgress>>>
  /** By chain id, of those where several endpoints must give the same bytes; only told. */
  readonly quorum?: () => Readonly<Record<string, QuorumDissents>>
  /** Of all processes; only told. */
  readonly triggers?: () => Promise<readonly TriggerLine[]>
  /** The standby that answers long reads; only told. Absent if none is configured. */
  readonly standby?: (() => Promise<StandbyState | null>) | undefined
  /** By endpoint, in the order of the configuration; only told. Absent if Solana is not served. */
  readonly solana?: (() => readonly SolanaOffers[]) | undefined
}

/** How far the triggers of a chain are evaluated that wait for the same finality. */
export interface TriggerLine {
  readonly chain_id: number
  readonly finality: string
  /** Names the process that evaluates them; null if none does. */
  readonly holder: string | null
  /** The block at which they were evaluated last, and how long ago, seconds; null if they never were. */
  readonly block: number | null
  readonly age_sec: number | null
  /** Since when they are not evaluated, if anybody was told so. ISO 8601. */
  readonly blind_since: string | null
}

/** What one endpoint of Solana offers besides reading accounts; null if it was not asked lately. */
interface SolanaOffers {
  readonly lists_token_accounts: boolean | null
  readonly searches_programs: boolean | null
}

/** How a standby does; its lag is null if it does not answer. */
interface StandbyState {
  readonly answers: boolean
  readonly lag_bytes: number | null
  readonly lag_seconds: number | null
}

/** Something that is not as it should be. */
export interface ReadinessReason {
  /** `process`, `database`, `chain 1`, or `triggers of chain 1`. */
  readonly part: string
  readonly reason: string
}

/** Answers of the dependencies. */
interface Readiness {
  readonly ready: boolean
  /** What does not answer, even if readiness does not depend on it, as on one chain of several. */
  readonly reasons: readonly ReadinessReason[]
  readonly database: boolean
  /** By chain id. */
  readonly chains: Readonly<Record<string, boolean>>
  /** By chain id; empty if nothing is known. */
  readonly history: Readonly<Record<string, HistoryProgress>>
  /** By chain id; empty if one endpoint is enough everywhere. */
  readonly quorum: Readonly<Record<string, QuorumDissents>>
  /** Empty if there are none to evaluate. */
  readonly triggers: readonly TriggerLine[]
  /** Empty if Solana is not served. */
  readonly solana: readonly SolanaOffers[]
  /** Null if none is configured. */
  readonly standby: StandbyState | null
}

/** Longest wait for one dependency. */
const PROBE_TIMEOUT_MS = 2_000
/** How long an answer is kept: `/readyz` needs no key, so asking it often must cost nothing. */
const KEPT_MS = 1_000

/** Asks all dependencies at once; requests that come while they are asked, or soon after, share the answer. */
export function createReadiness(probes: Probes, clock: Clock): () => Promise<Readiness> {
  let askedMs = Number.NEGATIVE_INFINITY
  let answer: Promise<Readiness> | undefined
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
}: Probes): Promise<Readiness> {
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

function reasonsOf(part: string, answer: boolean | string | undefined, usual: string): readonly ReadinessReason[] {
  return answer === true ? [] : [{ part, reason: typeof answer === 'string' ? answer : usual }]
}

function blindnessOf({ chain_id, blind_since }: TriggerLine): readonly ReadinessReason[] {
  if (blind_since === null) return []
  return [{ part: `triggers of chain ${chain_id}`, reason: `not evaluated since ${blind_since}` }]
}

async function answers(probe: Probe): Promise<boolean | string> {
  const controller = new AbortController()
  const late = new Promise<string>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(`no answer after ${PROBE_TIMEOUT_MS / 1_000} s`))
  })
  const timer = setTimeout(() => controller.abort(), PROBE_TIMEOUT_MS)
  try {
    return await Promise.race([probe(controller.signal), late])
  } catch {
    // The client of the dependency logs why.
    return false
  } finally {
    clearTimeout(timer)
  }
}
