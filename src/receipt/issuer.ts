import packageJson from '../../package.json' with { type: 'json' }
import { createCitingClient, presentCitation } from '../chain/receipt/citing.ts'
import type { ChainRecord, LensQuery, RecordedCall } from '../chain/receipt/record.ts'
import { createRecorder } from '../chain/receipt/recorder.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Config } from '../config/config.ts'
import type { FamilyServices, Testimony } from '../family/contract.ts'
import type { FinanceChain, FinanceClient } from '../finance/chain.ts'
import type { ReceiptIssuer, ReceiptRequest, Statement } from '../http/route/receipt.ts'
import type { Answer, ReadContext } from '../http/route/route.ts'
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { type Signer, signEnvelope } from '../lib/dsse.ts'
import { CodedError, UnavailableError, UpstreamError } from '../lib/error.ts'
import { createLru } from '../lib/lru.ts'
import { once } from '../lib/memoize.ts'
import {
  computeLevel,
  maskPaths,
  PAYLOAD_TYPE,
  type Payload,
  type StatedAnswer,
  toPayloadProof,
  toPayloadRead,
  toPayloadTold,
} from './payload.ts'
import { checkProof, EARLIER_UNPROVEN, hasEarlierCalls, toProvenCalls } from './proof/check.ts'
import { collectProof } from './proof/collect.ts'
import { ProofError } from './proof/lookup.ts'
import type { ProofRunner } from './proof/runner.ts'
import { getHeadNumbers, type ReplayedAnswer, replayAnswer, stateAnswer, toRouteCall } from './replay.ts'
import { type ParsedReceiptSettings, parseReceiptSettings, toReceiptSettings } from './settings.ts'
import { type ConfiguredSubject, createSubjectRoutes, findSubject, requireSubject } from './subject.ts'
import { recordTestimony, type Told } from './testimony.ts'

/** Maximum cached answers to agents, each valid until the next block. */
const CITED_MAX = 1_000
/** Result for a chain without past state, where no replay is possible. */
const EMPTY_REPLAY: Pick<ReplayedAnswer, 'queries' | 'uncovered'> = { queries: new Map(), uncovered: ['data'] }

/** A stated answer and the records it was computed from. */
interface RecordedAnswer {
  readonly statement: Statement
  readonly records: readonly ChainRecord[]
  readonly told: readonly Told[]
  readonly stated: StatedAnswer
}

interface ReceiptIssuerOptions {
  readonly config: Pick<Config, 'chains' | 'families'> & { readonly solana: Pick<Config['solana'], 'rpcUrls'> }
  readonly connect: () => FamilyServices
  /** Returns the signer. Throws `UnavailableError` while the key cannot be read. */
  readonly signer: () => Promise<Signer>
  readonly clock: Clock
  readonly runner: ProofRunner
}

/**
 * Creates receipts. Routes of its own compute the answer with recording clients; then routes replay it from the records
 * and the receipt's settings alone. The receipt is issued only if the replay gives the same answer. An answer that also
 * rests on logs is computed as without a receipt, and read again at its blocks for the receipt of its state.
 */
export function createReceiptIssuer({ config, connect, signer, clock, runner }: ReceiptIssuerOptions): ReceiptIssuer {
  const { families, chains, solana } = config
  const prover = createProver({ runner, clock })

  /** Computes the answer with separate routes over these clients. */
  async function readWithClients(
    recordingClients: readonly FinanceClient[],
    { statement, testimony }: { readonly statement: Statement; readonly testimony?: Testimony },
    context: ReadContext,
  ) {
    const services = connect()
    const clients = new Map(recordingClients.map((client) => [client.chain.id, client]))
    const recording: FamilyServices = { ...services, clients, firstBlocks: undefined, testimony }
    const routes = createSubjectRoutes(requireSubject(families, statement.path), {
      chains,
      servesSolana: solana.rpcUrls.length > 0,
      connect: () => recording,
    })
    const call = await toRouteCall(routes, statement)
    return await call.read(context)
  }

  async function recordAnswer(statement: Statement, { call }: ReceiptRequest, context: ReadContext) {
    const plainAnswer = call.restsOnLogs ? await call.read(context) : undefined
    const heads = plainAnswer && getHeadNumbers(plainAnswer, statement)
    const recorders = [...connect().clients.values()].map((client) =>
      createRecorder(client, heads?.get(client.chain.id)),
    )
    const recordingClients = recorders.map(({ client }) => client)
    const { work, untilMs, organizationId, apiKeyId, requestedAtMs } = context
    const stateContext = { work, untilMs, organizationId, apiKeyId, requestedAtMs, isStateOnly: true }
    const { testimony, list } = recordTestimony(connect().clients)
    const coveredAnswer = await readWithClients(recordingClients, { statement, testimony }, stateContext)
    const records = recorders.flatMap(({ client, record }) => listRecords(client.chain, record))
    return { answer: plainAnswer ?? coveredAnswer, records, told: list() }
  }

  /** Answers with citations, while their blocks are the newest. */
  const citedAnswers = createLru<Answer>({
    entriesMax: CITED_MAX,
    isOver: ({ untilMs }) => untilMs <= clock.monotonicMs(),
  })

  /** Settings of every chain of a subject, as a verifier parses them from a receipt. */
  const settingsByName = new Map<string, Record<'with' | 'without', () => ParsedReceiptSettings>>()
  function getSettings(subject: ConfiguredSubject) {
    const { name } = subject
    const cached = settingsByName.get(name)
    if (cached !== undefined) return cached
    const itsChains = chains.filter(
      ({ id }) => subject.readsTokens || subject.families.some((family) => family.settings.has(id)),
    )
    const parseSettings = (prices: boolean) => {
      const definition = findSubject(name)
      const parsed = definition && parseReceiptSettings(definition, toReceiptSettings(subject, itsChains, { prices }))
      if (parsed === undefined || 'mistakes' in parsed) throw new Error(`Cannot read the settings of ${name}`)
      return parsed
    }
    const settings = { with: once(() => parseSettings(true)), without: once(() => parseSettings(false)) }
    settingsByName.set(name, settings)
    return settings
  }

  /** Replays an answer with these settings. Throws `UpstreamError` if the result differs. */
  async function replay(
    { subject, chains: configuredChains }: ParsedReceiptSettings,
    { statement, records, told, stated }: RecordedAnswer,
  ): Promise<ReplayedAnswer> {
    const recordedChains = new Map(
      [...configuredChains].filter(([id]) => records.some(({ chainId }) => chainId === id)),
    )
    const replayed = await replayAnswer({ subject, chains: recordedChains }, { statement, records, told, clock })
    const { answer, uncovered, faults } = replayed
    const [fault = 'the answer depends on more than was read'] = faults
    const [replayedText, statedText] = [answer, stated].map((each) => JSON.stringify(maskPaths(each, uncovered)))
    if (faults.length > 0 || replayedText !== statedText) throw new UpstreamError(fault)
    return replayed
  }

  /** Replays as a verifier. Throws `UnavailableError` if a verifier would get another answer. */
  async function verifyByReplay(
    statement: Statement,
    { answer, records, told }: Awaited<ReturnType<typeof recordAnswer>>,
  ) {
    const subject = requireSubject(families, statement.path)
    const stated = stateAnswer(answer, statement)
    const recordedChains = chains.filter(({ id }) => records.some(({ chainId }) => chainId === id))
    const settings = (prices: boolean) => toReceiptSettings(subject, recordedChains, { prices })
    if (subject.network === 'solana') return { subject, stated, settings: settings(true), again: EMPTY_REPLAY }
    const recorded = { statement, records, told, stated }
    if (!subject.hasOwnPrices && !subject.readsTokens) {
      // Leave out hundreds of feeds that decided nothing, for the reader's sake.
      const replayed = await replay(getSettings(subject).without(), recorded).catch(() => undefined)
      if (replayed !== undefined) return { subject, stated, settings: settings(false), again: replayed }
    }
    const replayed = await replay(getSettings(subject).with(), recorded).catch((cause: unknown) => {
      // Reads of an attempt that failed later are in no record.
      throw cause instanceof UpstreamError ? noReceiptError(recordedChains, cause.message) : cause
    })
    return { subject, stated, settings: settings(true), again: replayed }
  }

  async function createReceipt(statement: Statement, request: ReceiptRequest, context: ReadContext): Promise<Answer> {
    const { kind, id } = request
    const { method, path, query, body } = statement
    const startedMs = clock.monotonicMs()
    const recorded = await recordAnswer(statement, request, context)
    const { answer, records, told } = recorded
    const { subject, stated, settings, again: replayed } = await verifyByReplay(statement, recorded)
    const { queries, uncovered } = replayed
    const { name, revision, network } = subject
    const proofs = kind === 'proof' ? await createProofs(records, queries, context) : undefined
    const agreed = records.map((record) => record.agreed)
    const level = computeLevel({ network, agreed, isProven: proofs !== undefined })
    const payload: Payload = {
      id: `rcp_${id}`,
      // The database's clock: this process' own may be wrong, and what is signed is believed.
      issued_at: new Date(context.requestedAtMs + clock.monotonicMs() - startedMs).toISOString(),
      version: packageJson.version,
      level,
      request: { method: method === 'POST' ? 'POST' : 'GET', path, query, body },
      family: { name, revision },
      answer: stated,
      uncovered: [...uncovered],
      reads: records.map(toPayloadRead),
      ...(told.length === 0 ? {} : { testimony: told.map(toPayloadTold) }),
      ...(proofs === undefined ? {} : { proofs }),
      settings,
    }
    const receipt = signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), await signer())
    return { ...answer, untilMs: 0, present: (presenting) => ({ ...answer.present(presenting), receipt }) }
  }

  async function createProofs(
    records: readonly ChainRecord[],
    queries: ReadonlyMap<RecordedCall, LensQuery>,
    context: ReadContext,
  ): Promise<Proofs> {
    const { clients } = connect()
    const proving = records.flatMap((record) => {
      const client = clients.get(record.chainId)
      return client === undefined ? [] : [{ client, record, queries }]
    })
    return await prover.all(proving, context)
  }

  return {
    readWithReceipt: (statement, request) => async (context) => {
      const work = () => createReceipt(statement, request, context)
      return request.kind === 'proof' ? await prover.alone(context.organizationId, work) : await work()
    },
    readWithCitation(statement) {
      if (requireSubject(families, statement.path).network === 'solana') return undefined
      return async (context) => {
        const key = JSON.stringify(statement)
        const cachedAnswer = citedAnswers.get(key)
        if (cachedAnswer !== undefined && cachedAnswer.untilMs > clock.monotonicMs()) return cachedAnswer
        const citingClients = [...connect().clients.values()].map((client) => createCitingClient(client))
        const recordingClients = citingClients.map(({ client }) => client)
        const answer = await readWithClients(recordingClients, { statement }, context)
        const citations = await Promise.all(citingClients.map((each) => each.listCitations()))
        const citation = citations.flat().map(presentCitation)
        const citedAnswer: Answer = {
          ...answer,
          present: (presenting) => ({ ...answer.present(presenting), citation }),
        }
        if (citedAnswer.untilMs > clock.monotonicMs()) citedAnswers.set(key, citedAnswer)
        return citedAnswer
      }
    },
  }
}

/** Returns the record of a chain, if any. Throws `UnavailableError` if the reads are not reproducible. */
function listRecords(chain: FinanceChain, record: () => ChainRecord | undefined): readonly ChainRecord[] {
  try {
    return [record()].filter((each) => each !== undefined)
  } catch (error) {
    if (error instanceof UpstreamError) throw noReceiptError([chain], error.message)
    throw error
  }
}

function noReceiptError(chains: readonly FinanceChain[], reason: string): UnavailableError {
  const chainNames = chains.map(({ id, name }) => `${id} (${name})`).join(', ')
  return new UnavailableError(`Cannot give a receipt for chain ${chainNames} because ${reason}`)
}

/** A record, its chain's client, and the code of its calls. */
interface ProverOptions {
  readonly client: ChainClient
  readonly record: ChainRecord
  readonly queries: ReadonlyMap<RecordedCall, LensQuery>
}

const NO_PROOF = `Cannot read parameter "receipt": expected true, because ${EARLIER_UNPROVEN}, got "proof"`

type Proofs = NonNullable<Payload['proofs']>

/** Creates proofs of records; returns a proof only if our own verifier accepts it. */
function createProver({ runner, clock }: { readonly runner: ProofRunner; readonly clock: Clock }) {
  const busyOrganizations = new Set<string>()

  async function prove(
    { client, record, queries }: ProverOptions,
    organizationId: string,
    work: Work,
  ): Promise<Proofs[number]> {
    const ownRunner: Pick<ProofRunner, 'run'> = { run: (job, within) => runner.run(job, within, organizationId) }
    // Lasting, unlike what endpoints cannot prove now.
    if (hasEarlierCalls(record)) throw new CodedError('INVALID_PARAMETER', NO_PROOF)
    const calls = toProvenCalls(record, queries)
    if (calls === undefined) throw unprovenError(client, 'it rests on more than calls of lenses')
    const proof = await collectProof({ client, runner: ownRunner, clock }, { record, calls }, work).catch(
      (cause: unknown) => {
        if (cause instanceof ProofError) throw unprovenError(client, cause.message, cause)
        if (!(cause instanceof CodedError) || cause.code === 'INVALID_PARAMETER' || work.signal.aborted) throw cause
        throw unprovenError(client, 'no endpoint proves that block', cause)
      },
    )
    const result = await checkProof(ownRunner, { record, proof, queriesByCall: queries }, work.signal)
    if (result.is !== 'true') throw unprovenError(client, result.because)
    return toPayloadProof(record.chainId, proof)
  }

  return {
    /** Runs the work of an organization, one at a time per organization. */
    async alone<T>(organizationId: string, work: () => Promise<T>): Promise<T> {
      if (busyOrganizations.has(organizationId)) {
        throw new UnavailableError('Cannot prove two answers of one organization at the same time')
      }
      busyOrganizations.add(organizationId)
      try {
        runner.prepare()
        return await work()
      } finally {
        busyOrganizations.delete(organizationId)
      }
    },
    /** Throws `UnavailableError` if a record cannot be proven, `CodedError` if that would be too much. */
    all: (
      proving: readonly ProverOptions[],
      { organizationId, work }: Pick<ReadContext, 'organizationId' | 'work'>,
    ): Promise<Proofs> => Promise.all(proving.map((each) => prove(each, organizationId, work))),
  }
}

function unprovenError({ chain: { id, name } }: ChainClient, reason: string, cause?: unknown): UnavailableError {
  return new UnavailableError(`Cannot prove the answer for chain ${id} (${name}) because ${reason}`, { cause })
}
