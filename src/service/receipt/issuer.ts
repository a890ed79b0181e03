import packageJson from '../../../package.json' with { type: 'json' }
import { createCitingClient, presentCitation } from '../../chain/receipt/citing.ts'
import { type Signer, signEnvelope } from '../../chain/receipt/envelope.ts'
import type { ProofRunner } from '../../chain/receipt/proof/runner.ts'
import type { ChainRecord, LensQuery, RecordedCall } from '../../chain/receipt/record.ts'
import { createRecorder, UnrecordableError } from '../../chain/receipt/recorder.ts'
import type { ConfiguredFamily, FamilyServices } from '../../family/family.ts'
import { FAMILIES } from '../../family/mod.ts'
import type { FinanceChain, FinanceClient } from '../../finance/chain.ts'
import type { ReceiptIssuer, ReceiptRequest, Statement } from '../../http/route/receipt.ts'
import type { Answer, ReadContext } from '../../http/route/route.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { memoize, once } from '../../lib/memoize.ts'
import type { Config } from '../config/config.ts'
import { PAYLOAD_TYPE, type Payload, type StatedAnswer, toPayloadRead } from './payload.ts'
import { createProver, type Proofs } from './prove.ts'
import { getHeadNumbers, type ReplayedAnswer, replayAnswer, stateAnswer, toRouteCall } from './replay.ts'
import { type ParsedReceiptSettings, parseReceiptSettings, toReceiptSettings } from './settings.ts'
import { maskPaths } from './uncovered.ts'

/** Answers to agents that are kept until the next block. */
const CITED_MAX = 1_000
/** Of a chain that keeps no past, nothing is counted again. */
const NOTHING_COUNTED: Pick<ReplayedAnswer, 'asked' | 'uncovered'> = { asked: new Map(), uncovered: ['data'] }

/** An answer as it is stated, and what it was made from. */
interface RecordedAnswer {
  readonly statement: Statement
  readonly records: readonly ChainRecord[]
  readonly stated: StatedAnswer
}

interface ReceiptIssuerOptions {
  readonly config: Pick<Config, 'chains' | 'families'> & { readonly solana: Pick<Config['solana'], 'rpcUrls'> }
  readonly connect: () => FamilyServices
  /** Who signs. Throws `UnavailableError` while the key cannot be read. */
  readonly signer: () => Promise<Signer>
  readonly clock: Clock
  readonly runner: ProofRunner
}

/**
 * Makes receipts. The answer is made by routes of its own, over clients that note what they read; then by routes over
 * nothing but the notes and the settings as the receipt has them. Only if both answers are the same it leaves. One that
 * rests on logs too is made as without a receipt, and then read again at its blocks for the receipt of its state.
 */
export function createReceiptIssuer({ config, connect, signer, clock, runner }: ReceiptIssuerOptions): ReceiptIssuer {
  const { families, chains, solana } = config
  const prover = createProver({ runner, clock })

  function familyOf({ path }: Statement): ConfiguredFamily {
    const family = families.find(({ name }) => name === path.split('/')[3])
    if (family === undefined) throw new Error(`Cannot find the family of ${path}`)
    return family
  }

  /** The answer of routes of its own, over these clients. */
  async function answerOver(noting: readonly FinanceClient[], statement: Statement, context: ReadContext) {
    const services = connect()
    const clients = new Map(noting.map((client) => [client.chain.id, client]))
    const routes = familyOf(statement).routes({
      chainIds: chains.map(({ id }) => id),
      servesSolana: solana.rpcUrls.length > 0,
      connect: () => ({ ...services, clients }),
    })
    const call = await toRouteCall(routes, statement)
    return await call.read(context)
  }

  async function recording(statement: Statement, { call }: ReceiptRequest, context: ReadContext) {
    const given = call.restsOnLogs ? await call.read(context) : undefined
    const heads = given && getHeadNumbers(given, statement)
    const recorders = [...connect().clients.values()].map((client) =>
      createRecorder(client, heads?.get(client.chain.id)),
    )
    const noting = recorders.map(({ client }) => client)
    const { signal, untilMs, organizationId, apiKeyId, requestedAtMs } = context
    const ofState = { signal, untilMs, organizationId, apiKeyId, requestedAtMs, stateAlone: true }
    const covered = await answerOver(noting, statement, ofState)
    const records = recorders.flatMap(({ client, record }) => recordOf(client.chain, record))
    return { answer: given ?? covered, records }
  }

  /** Answers that say what they were read from, while their blocks are the newest. */
  const cited = createLru<Answer>({ entriesMax: CITED_MAX })

  /** Settings of every chain of a family as a verifier reads them from a receipt. */
  const settled = memoize((family: ConfiguredFamily) => {
    const mine = chains.filter(({ id }) => family.settings.has(id))
    const definition = FAMILIES.find(({ name }) => name === family.name)
    const readWith = (prices: boolean) => {
      const read = definition && parseReceiptSettings(definition, toReceiptSettings(family, mine, { prices }))
      if (read === undefined || 'mistakes' in read) throw new Error(`Cannot read the settings of ${family.name}`)
      return read
    }
    return { with: once(() => readWith(true)), without: once(() => readWith(false)) }
  })

  /** What an answer is counted again from by these settings. Throws `UpstreamError` if it comes otherwise. */
  async function counted(
    { family, chains: all }: ParsedReceiptSettings,
    { statement, records, stated }: RecordedAnswer,
  ): Promise<ReplayedAnswer> {
    const read = new Map([...all].filter(([id]) => records.some(({ chainId }) => chainId === id)))
    const again = await replayAnswer({ family, chains: read }, { statement, records, clock })
    const { answer, uncovered, faults } = again
    const [fault = 'the answer depends on more than was read'] = faults
    const [own, given] = [answer, stated].map((each) => JSON.stringify(maskPaths(each, uncovered)))
    if (faults.length > 0 || own !== given) throw new UpstreamError(fault)
    return again
  }

  /** Throws `UnavailableError` if a verifier would not come to the same. */
  async function verified(statement: Statement, records: readonly ChainRecord[], answer: Answer) {
    const family = familyOf(statement)
    const stated = stateAnswer(answer, statement)
    const read = chains.filter(({ id }) => records.some(({ chainId }) => chainId === id))
    const settings = (prices: boolean) => toReceiptSettings(family, read, { prices })
    if (family.network === 'solana') return { family, stated, settings: settings(true), again: NOTHING_COUNTED }
    const sought = { statement, records, stated }
    if (!family.hasOwnPrices) {
      // Hundreds of feeds that decided nothing would only be in a reader's way.
      const again = await counted(settled(family).without(), sought).catch(() => undefined)
      if (again !== undefined) return { family, stated, settings: settings(false), again }
    }
    const again = await counted(settled(family).with(), sought).catch((cause: unknown) => {
      // What an attempt found that failed later is in no record.
      throw cause instanceof UpstreamError ? refused(read, cause.message) : cause
    })
    return { family, stated, settings: settings(true), again }
  }

  async function receipted(statement: Statement, wanted: ReceiptRequest, context: ReadContext): Promise<Answer> {
    const { kind, id } = wanted
    const { method, path, query, body } = statement
    const { answer, records } = await recording(statement, wanted, context)
    const { family, stated, settings, again } = await verified(statement, records, answer)
    const { asked, uncovered } = again
    const { name, revision, network } = family
    const proofs = kind === 'proof' ? await proofsOf(records, asked, context) : undefined
    const level = network === 'solana' ? 'signed' : levelOf(records, proofs)
    const payload: Payload = {
      id: `rcp_${id}`,
      issued_at: new Date(clock.now()).toISOString(),
      version: packageJson.version,
      level,
      request: { method: method === 'POST' ? 'POST' : 'GET', path, query, body },
      family: { name, revision },
      answer: stated,
      uncovered: [...uncovered],
      reads: records.map(toPayloadRead),
      ...(proofs === undefined ? {} : { proofs }),
      settings,
    }
    const receipt = signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), await signer())
    return { ...answer, untilMs: 0, present: (presenting) => ({ ...answer.present(presenting), receipt }) }
  }

  async function proofsOf(
    records: readonly ChainRecord[],
    asked: ReadonlyMap<RecordedCall, LensQuery>,
    { signal }: ReadContext,
  ): Promise<Proofs> {
    const { clients } = connect()
    const proving = records.flatMap((record) => {
      const client = clients.get(record.chainId)
      return client === undefined ? [] : [{ client, record, asked }]
    })
    return await prover.all(proving, signal)
  }

  return {
    receipted: (statement, wanted) => async (context) => {
      const work = () => receipted(statement, wanted, context)
      return wanted.kind === 'proof' ? await prover.alone(context.organizationId, work) : await work()
    },
    cited(statement) {
      if (familyOf(statement).network === 'solana') return undefined
      return async (context) => {
        const name = JSON.stringify(statement)
        const before = cited.get(name)
        if (before !== undefined && before.untilMs > clock.monotonicMs()) return before
        const citing = [...connect().clients.values()].map((client) => createCitingClient(client))
        const noting = citing.map(({ client }) => client)
        const answer = await answerOver(noting, statement, context)
        const questions = await Promise.all(citing.map((each) => each.cited()))
        const citation = questions.flat().map(presentCitation)
        const made: Answer = { ...answer, present: (presenting) => ({ ...answer.present(presenting), citation }) }
        if (made.untilMs > clock.monotonicMs()) cited.set(name, made)
        return made
      }
    },
  }
}

function levelOf(records: readonly ChainRecord[], proofs: Proofs | undefined): Payload['level'] {
  if (proofs !== undefined) return 'proven'
  return records.length > 0 && records.every(({ agreed }) => agreed > 1) ? 'agreed' : 'replayable'
}

/** Throws `UnavailableError` if nobody else would read the same. */
function recordOf(chain: FinanceChain, record: () => ChainRecord | undefined): readonly ChainRecord[] {
  try {
    return [record()].filter((each) => each !== undefined)
  } catch (error) {
    if (error instanceof UnrecordableError) throw refused([chain], error.message)
    throw error
  }
}

function refused(chains: readonly FinanceChain[], because: string): UnavailableError {
  const named = chains.map(({ id, name }) => `${id} (${name})`).join(', ')
  return new UnavailableError(`Cannot give a receipt for chain ${named} because ${because}`)
}
