import { readConfig } from '../../../src/config/config.ts'
import { AAVE_V4_DEPLOYMENTS } from '../../../src/family/aave_v4/table.ts'
import type { Example } from '../../../src/http/openapi/example.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createServices } from '../../../src/service/mod.ts'
import { createLifecycle } from '../../../src/service/process/lifecycle.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { DEMO_NAME, placeNames } from '../../devnet/names.ts'
import { addStakedSlipstream, type SlipstreamDevnet } from '../../devnet/slipstream.ts'
import { DEMO_V4_POOLS, mintEach } from '../../devnet/uniswap_v4/mint_each.ts'
import { SDAI } from '../../devnet/vaults/mod.ts'
import { createAccount } from '../../support/account/scene.ts'
import { createClient } from '../../support/client.ts'
import { temporaryDirectory, testDatabase } from '../../support/database.ts'
import { MARKET, OBLIGATION, SLOT, scene, WALLET } from '../../support/kamino_scene.ts'
import { ORCA_MINT, orcaScene } from '../../support/orca_scene.ts'
import { startSolanaDouble } from '../../support/solana.ts'

/** Real requests and answers by operation: `GET /v1/usage/logs`. */
export type Examples = Readonly<Record<string, Example>>

/**
 * What is asked for each operation: path and query, and the body if it takes one. `<POST /v1/triggers>` stands for the id
 * of what that operation made before.
 */
export interface Question {
  readonly operation: string
  readonly target: string
  readonly body?: object
}

/** A question as it is sent. */
export interface ExampleRequest {
  readonly method: string
  readonly target: string
  readonly body?: object
}

/** How long an answer may need its history first. */
const HISTORY_LIMIT_MS = 60_000

/** A devnet and a Solana with every protocol of the demo, and one question for each operation. */
export interface ExampleWorld {
  readonly questions: readonly Question[]
  /** Environment of a service over it; `CHAINS_FILE` holds `chainsFile`. */
  readonly env: Readonly<Record<string, string>>
  readonly chainsFile: string
  stop(): Promise<void>
}

/** Starts it. */
export async function startExampleWorld(): Promise<ExampleWorld> {
  const devnet = await startDevnet({ ageSec: 2 * SCENARIO_SEC })
  const solana = startSolanaDouble({ accounts: () => ({ ...scene(), ...orcaScene() }), slot: SLOT })
  const slipstream = await addStakedSlipstream(devnet)
  return {
    questions: await listQuestions(devnet, slipstream),
    env: {
      CHAINS: '1',
      PUBLIC_URL: 'https://walletscope.example',
      SOLANA_RPC_URL: solana.url,
      // An address reserved for documentation, which never answers.
      WEBHOOK_ALLOWED_CIDRS: '203.0.113.0/24',
    },
    chainsFile: createChainsFile(devnet.rpcUrl, {
      ...slipstream.row,
      aaveV4: AAVE_V4,
      add: { prices: { usdFeeds: slipstream.usdFeeds } },
    }),
    async stop() {
      solana.stop()
      await devnet.stop()
    },
  }
}

/** Spokes as of the devnet's first blocks: those of Ethereum came later. */
const { accessManager, spokes = [] } = AAVE_V4_DEPLOYMENTS.get(1) ?? {}
const AAVE_V4 = { accessManager, spokes: spokes.map((spoke) => ({ ...spoke, startBlock: 1 })) }

/** Asks the questions in their order, each until it is answered. */
export async function askInTurn(
  questions: readonly Question[],
  ask: (asked: ExampleRequest) => Promise<{ readonly status: number; readonly body: unknown; readonly text: string }>,
): Promise<Examples> {
  const examples: Record<string, Example> = {}
  const filled = (text: string) => text.replace(/<(.*?)>/g, (_, operation) => findId(examples[operation]?.answer))
  for (const { operation, ...question } of questions) {
    const [method = ''] = operation.split(' ')
    const target = filled(question.target)
    const body = question.body === undefined ? {} : { body: JSON.parse(filled(JSON.stringify(question.body))) }
    examples[operation] = { target, ...body, answer: await answered(() => ask({ method, target, ...body })) }
  }
  return examples
}

/** The id of the object that an answer reports as created. */
export function findId(answer: unknown): string {
  return (answer as { readonly data: { readonly id: string } }).data.id
}

/** Asks a service one question for each operation. */
export async function askExamples(): Promise<Examples> {
  const database = await testDatabase()
  const world = await startExampleWorld()
  const log = createLog({ level: 'error', write: (line) => process.stderr.write(`${line}\n`), clock: systemClock })
  const life = createLifecycle({ clock: systemClock, log })
  try {
    const env = {
      ...world.env,
      CHAINS_FILE: 'chains.json',
      // The client's host.
      ALLOWED_HOSTS: 'test.local',
      DATABASE_URL: database.url,
      DATA_DIR: temporaryDirectory(),
    }
    const config = readConfig(env, () => world.chainsFile)
    const { app } = await createServices(config, { clock: systemClock, log, lifecycle: life })
    const { key } = await createAccount(database.db, { credits: 1_000_000, rateLimit: 1_000 })
    const call = createClient(app.handler)
    const examples = await askInTurn(world.questions, ({ method, target, body }) =>
      call(target, {
        key,
        method,
        headers: { 'x-request-id': 'req_example', 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    return Object.fromEntries(
      Object.entries(examples).map(([operation, each]) => [operation, { ...each, answer: shortened(each.answer) }]),
    )
  } finally {
    await life.stop()
    await world.stop()
    await database.close()
  }
}

async function listQuestions(
  devnet: Devnet,
  { owner, tokenIds: [stakedId] }: Pick<SlipstreamDevnet, 'owner' | 'tokenIds'>,
): Promise<readonly Question[]> {
  const morpho = await devnet.morpho()
  const aave = await devnet.aave()
  const { wallet: debtor } = await devnet.aaveV4()
  const comet = await devnet.compoundV3()
  const { provider, retired } = devnet.wallets
  await placeNames(devnet)
  // As in the demo, so that the same requests are answered there.
  const v4 = await mintEach(await devnet.uniswapV4(), { names: DEMO_V4_POOLS, owner: provider })
  // Last: the bank's next contracts get other addresses.
  const depositor = await devnet.vaults()
  const { everywhere, borrower } = aave.wallets
  const id = devnet.positions.inRange
  const kamino = `wallet=${WALLET}&market_address=${MARKET}`
  const get = (path: string, target: string): Question => ({ operation: `GET ${path}`, target })
  const position = '/v1/lending/aave-v3/position'
  return [
    get('/v1/positions/uniswap-v3', `/v1/positions/uniswap-v3?wallet=${provider}&full=true&limit=1`),
    get('/v1/positions/uniswap-v3/{id}', `/v1/positions/uniswap-v3/${id}?full=true`),
    get('/v1/positions/uniswap-v3/{id}/pnl', `/v1/positions/uniswap-v3/${id}/pnl`),
    get('/v1/positions/uniswap-v3/{id}/events', `/v1/positions/uniswap-v3/${id}/events?limit=2`),
    get('/v1/positions/uniswap-v4', `/v1/positions/uniswap-v4?wallet=${provider}&full=true&limit=1`),
    get('/v1/positions/uniswap-v4/{id}', `/v1/positions/uniswap-v4/${v4.feeTaking}?chain_id=1`),
    get('/v1/positions/uniswap-v4/{id}/pnl', `/v1/positions/uniswap-v4/${v4.plain}/pnl`),
    get('/v1/positions/uniswap-v4/{id}/events', `/v1/positions/uniswap-v4/${v4.plain}/events?limit=2`),
    get('/v1/positions/slipstream', `/v1/positions/slipstream?wallet=${owner}&full=true&limit=1`),
    get('/v1/positions/slipstream/{id}', `/v1/positions/slipstream/${stakedId}?full=true`),
    get('/v1/positions/slipstream/{id}/pnl', `/v1/positions/slipstream/${stakedId}/pnl`),
    get('/v1/positions/slipstream/{id}/events', `/v1/positions/slipstream/${stakedId}/events?limit=2`),
    get('/v1/positions/orca-whirlpool', `/v1/positions/orca-whirlpool?wallet=${WALLET}&full=true`),
    get('/v1/positions/orca-whirlpool/{id}', `/v1/positions/orca-whirlpool/${ORCA_MINT}?wallet=${WALLET}`),
    get('/v1/lending/aave-v3', `/v1/lending/aave-v3?wallet=${everywhere}&market_id=main`),
    {
      operation: 'POST /v1/lending/aave-v3/batch',
      target: '/v1/lending/aave-v3/batch',
      body: { wallets: [everywhere, borrower, retired] },
    },
    get(`${position}/{chain_id}/events`, `${position}/1/events?wallet=${borrower}&limit=2`),
    get(`${position}/{chain_id}/snapshots`, `${position}/1/snapshots?wallet=${borrower}&max_snapshots=2`),
    get('/v1/lending/aave-v4', `/v1/lending/aave-v4?wallet=${debtor}&market_id=main`),
    {
      operation: 'POST /v1/lending/aave-v4/batch',
      target: '/v1/lending/aave-v4/batch',
      body: { wallets: [debtor, borrower] },
    },
    get(
      '/v1/lending/aave-v4/position/{chain_id}/events',
      `/v1/lending/aave-v4/position/1/events?wallet=${debtor}&limit=2`,
    ),
    get(
      '/v1/lending/aave-v4/position/{chain_id}/snapshots',
      `/v1/lending/aave-v4/position/1/snapshots?wallet=${debtor}&max_snapshots=2`,
    ),
    get('/v1/lending/compound-v3', `/v1/lending/compound-v3?wallet=${comet.borrower}`),
    {
      operation: 'POST /v1/lending/compound-v3/batch',
      target: '/v1/lending/compound-v3/batch',
      body: { wallets: [comet.borrower, comet.lender] },
    },
    get(
      '/v1/lending/compound-v3/position/{chain_id}/events',
      `/v1/lending/compound-v3/position/1/events?wallet=${comet.borrower}&market_id=usdc&limit=2`,
    ),
    get(
      '/v1/lending/compound-v3/position/{chain_id}/snapshots',
      `/v1/lending/compound-v3/position/1/snapshots?wallet=${comet.lender}&market_id=usdc&max_snapshots=2`,
    ),
    get('/v1/lending/morpho-blue', `/v1/lending/morpho-blue?wallet=${morpho.wallets.both}`),
    get(
      '/v1/lending/morpho-blue/position/{chain_id}/yield',
      `/v1/lending/morpho-blue/position/1/yield?wallet=${morpho.wallets.borrower}&market_id=${morpho.markets.wethUsdc.id}`,
    ),
    get('/v1/positions/vaults', `/v1/positions/vaults?wallet=${depositor}`),
    {
      operation: 'POST /v1/positions/vaults/batch',
      target: '/v1/positions/vaults/batch',
      body: { wallets: [depositor, provider] },
    },
    get('/v1/positions/vaults/{vault}/pnl', `/v1/positions/vaults/${SDAI}/pnl?wallet=${depositor}&chain_id=1`),
    get('/v1/positions/vaults/{vault}/events', `/v1/positions/vaults/${SDAI}/events?wallet=${depositor}&chain_id=1`),
    get('/v1/lending/kamino', `/v1/lending/kamino?wallet=${WALLET}`),
    {
      operation: 'POST /v1/lending/kamino/batch',
      target: '/v1/lending/kamino/batch',
      body: { wallets: [WALLET, MARKET] },
    },
    get(
      '/v1/lending/kamino/position/{obligation_address}/yield',
      `/v1/lending/kamino/position/${OBLIGATION}/yield?${kamino}`,
    ),
    get(
      '/v1/lending/kamino/position/{obligation_address}/risk',
      `/v1/lending/kamino/position/${OBLIGATION}/risk?${kamino}`,
    ),
    get('/v1/wallet/overview', `/v1/wallet/overview?wallet=${everywhere},${provider}`),
    get('/v1/portfolio/balance', `/v1/portfolio/balance?wallet=${everywhere}`),
    get('/v1/portfolio/assets', `/v1/portfolio/assets?wallet=${everywhere}&chain_id=1&limit=2`),
    get('/v1/portfolio/exit', `/v1/portfolio/exit?wallet=${borrower}&chain_id=1`),
    get('/v1/portfolio/snapshots', `/v1/portfolio/snapshots?wallet=${everywhere}&chain_id=1&max_snapshots=2`),
    get('/v1/names', `/v1/names?name=${DEMO_NAME}`),
    ...triggerQuestions(borrower),
    get('/v1/usage/logs', '/v1/usage/logs?limit=1'),
  ]
}

/** Makes what it asks about, and deletes it at the end. */
function triggerQuestions(wallet: string): readonly Question[] {
  const [trigger, webhook] = ['/v1/triggers/<POST /v1/triggers>', '/v1/webhooks/<POST /v1/webhooks>']
  const own = (operation: string, target: string, body?: object): Question => ({
    operation,
    target,
    ...(body === undefined ? {} : { body }),
  })
  return [
    own('POST /v1/webhooks', '/v1/webhooks', { url: 'https://203.0.113.7/walletscope', name: 'Chat bridge' }),
    own('GET /v1/webhooks', '/v1/webhooks'),
    own('GET /v1/webhooks/{id}', webhook),
    own('PATCH /v1/webhooks/{id}', webhook, { name: 'Bridge to the chat' }),
    own('POST /v1/webhooks/{id}/rotate', `${webhook}/rotate`, { overlap_sec: 3_600 }),
    own('POST /v1/webhooks/{id}/test', `${webhook}/test`),
    own('POST /v1/webhooks/{id}/redeliver', `${webhook}/redeliver`, { from: '2026-01-01', to: '2026-01-02' }),
    own('POST /v1/triggers', '/v1/triggers', {
      chain_id: 1,
      family: 'aave-v3',
      subject: { wallet },
      when: { figure: 'health_factor', below: '1.05' },
      webhook_id: '<POST /v1/webhooks>',
      name: 'Main vault',
    }),
    own('GET /v1/triggers', '/v1/triggers?state=armed'),
    own('GET /v1/triggers/{id}', trigger),
    own('PATCH /v1/triggers/{id}', trigger, { for_blocks: 2 }),
    own('POST /v1/triggers/{id}/test', `${trigger}/test`),
    own('GET /v1/triggers/{id}/deliveries', `${trigger}/deliveries`),
    own('GET /v1/events', '/v1/events?limit=1'),
    own('DELETE /v1/triggers/{id}', trigger),
    own('DELETE /v1/webhooks/{id}', webhook),
  ]
}

/** The body of a success. It is asked for again while history is collected: a 503, or profit and loss that is pending. */
export async function answered(
  ask: () => Promise<{ readonly status: number; readonly body: unknown; readonly text: string }>,
): Promise<unknown> {
  const untilMs = performance.now() + HISTORY_LIMIT_MS
  for (;;) {
    const { status, body, text } = await ask()
    const isPending = status === 200 && text.includes('"pnl_status":"pending"')
    if (status === 200 && !isPending) return body
    if ((status !== 503 && !isPending) || performance.now() > untilMs) {
      throw new Error(`Cannot take an example: ${status} ${text}`)
    }
    await Bun.sleep(250)
  }
}

/** The same with at most two entries of its list: a daily series would be most of the document. */
function shortened(body: unknown): unknown {
  const { data } = body as { readonly data: unknown }
  return Array.isArray(data) ? { ...(body as object), data: data.slice(0, 2) } : body
}
