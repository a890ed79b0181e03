import { type Address, getAddress, type Hex, stringToHex } from 'viem'
import { BANK, toWalletAddress } from '../../addresses.ts'
import { ownCreationCode } from '../../artifacts.ts'
import { createRandom } from '../../random.ts'
import type { Rpc } from '../../rpc.ts'
import type { Send, Transaction } from '../../transaction.ts'
import type { AaveV3 } from '../aave_v3.ts'
import { ASSETS, MARKETS } from '../addresses.ts'
import { borrowCall, supplyCall } from '../calls.ts'
import { deployAll, elementAt } from '../deploy.ts'
import type { Release } from '../release.ts'
import { rawUsd } from '../scenario.ts'
import { GOVERNANCE_ACTS, listPassing, NEW_GOVERNANCE_ACTS, OLD_GOVERNANCE_ACTS } from './governance_acts.ts'
import { LIQUIDATION_ACTS, NEW_LIQUIDATION_ACTS, OLD_LIQUIDATION_ACTS } from './liquidation_acts.ts'
import { type Act, call, onConfigurator, RANDOM_SETUPS, type RandomMarket, type Scene } from './scene.ts'
import { NEW_ACTS, OLD_ACTS, WALLET_ACTS } from './wallet_acts.ts'

const WALLETS = 5
const DAY_SEC = 86_400
/** How often an act that did not happen by chance is tried in the end. */
const TRIES = 60

const ACTS: Readonly<Record<RandomMarket, Readonly<Record<string, Act>>>> = {
  etherfi: {
    ...WALLET_ACTS,
    ...NEW_ACTS,
    ...LIQUIDATION_ACTS,
    ...NEW_LIQUIDATION_ACTS,
    ...GOVERNANCE_ACTS,
    ...NEW_GOVERNANCE_ACTS,
  },
  v3_0: {
    ...WALLET_ACTS,
    ...OLD_ACTS,
    ...LIQUIDATION_ACTS,
    ...OLD_LIQUIDATION_ACTS,
    ...GOVERNANCE_ACTS,
    ...OLD_GOVERNANCE_ACTS,
  },
}
/** Of these there are enough if they happen now and then: each takes a dozen transactions. */
const SELDOM: readonly string[] = Object.keys({
  ...LIQUIDATION_ACTS,
  ...OLD_LIQUIDATION_ACTS,
  ...NEW_LIQUIDATION_ACTS,
  ...GOVERNANCE_ACTS,
})

/** What happened in a market: how often each act did. */
export type AaveActivity = ReadonlyMap<string, number>

/**
 * Lets a market live at random, so that everything happens that moves an index or a balance in its version: what chance
 * left out is done in the end. Then the reserve that comes and goes is there again, and all reserves are used.
 */
export async function runRandomActivity(
  { rpc, send, aave, release }: { rpc: Rpc; send: Send; aave: AaveV3; release: Release },
  { market, seed, steps }: { readonly market: RandomMarket; readonly seed: number; readonly steps: number },
): Promise<AaveActivity> {
  const random = createRandom(seed)
  const [actor] = await deployAll(send, [ownCreationCode('Actor')])
  let strangers = 0
  const name = (who: string) => toWalletAddress(`aave life ${market} ${seed} ${who}`)
  const scene: Scene = {
    rpc,
    send,
    aave,
    release,
    random,
    market,
    ...RANDOM_SETUPS[market],
    wallets: Array.from({ length: WALLETS }, (_, index) => name(`${index}`)),
    actor: getAddress(actor as Address),
    stranger: () => name(`stranger ${strangers++}`),
  }
  await begin(scene)
  const acts = ACTS[market]
  const done = new Map(Object.keys(acts).map((act) => [act, 0]))
  const attemptAct = async (act: string): Promise<void> => {
    if (await acts[act]?.(scene)) done.set(act, (done.get(act) ?? 0) + 1)
    if (random.below(3) === 0) await aave.warp(1 + random.below(2 * DAY_SEC))
  }
  const usual = Object.keys(acts).filter((act) => !SELDOM.includes(act))
  for (let step = 0; step < steps; step++) {
    await attemptAct(random.below(12) === 0 ? random.pick(Object.keys(acts)) : random.pick(usual))
  }
  for (let tries = 0; tries < TRIES; tries++) {
    for (const [act, times] of done) if (times === 0) await attemptAct(act)
  }
  await listPassing(scene)
  const { passing, wallets } = scene
  await send([supplyCall({ market, wallet: elementAt(wallets, 0), asset: passing, amount: rawUsd(passing, 500) })])
  for (const asset of scene.traded) {
    await aave.warp(DAY_SEC)
    await send([supplyCall({ market, wallet: elementAt(wallets, 1), asset, amount: rawUsd(asset, 100) })])
  }
  return done
}

/** All wallets have tokens, each reserve has debt, and governance enables every feature. */
async function begin(scene: Scene): Promise<void> {
  const { send, aave, market, wallets, traded, second } = scene
  const addresses = traded.map((asset) => ASSETS[asset].address)
  await send([
    ...(market === 'v3_0' ? await bridgeCalls(scene, addresses) : [umbrellaCall(market)]),
    ...addresses.flatMap((address) => [
      onConfigurator(scene, 'setReserveFlashLoaning', [address, true]),
      onConfigurator(scene, 'setLiquidationProtocolFee', [address, 1_000n]),
    ]),
  ])
  const supplied = (['weth', second] as const).flatMap((asset) =>
    wallets.map((wallet) => supplyCall({ market, wallet, asset, amount: rawUsd(asset, 12_000) })),
  )
  await send(supplied)
  const borrowed = wallets.map((wallet, index) => {
    const asset = elementAt(traded, index % traded.length)
    return borrowCall({ market, wallet, asset, amount: rawUsd(asset, 2_000) })
  })
  await send(borrowed)
  await aave.warp(DAY_SEC)
}

/** The bank is a bridge: it may mint what is not there yet. */
async function bridgeCalls(scene: Scene, assets: readonly Address[]): Promise<Transaction[]> {
  const { provider } = MARKETS[scene.market]
  const question = { to: provider, data: call('getACLManager', []) }
  const acl = getAddress(`0x${(await scene.rpc.call<Hex>('eth_call', question, 'latest')).slice(26)}`)
  const caps = assets.map((asset) => onConfigurator(scene, 'setUnbackedMintCap', [asset, 1_000_000n]))
  return [{ from: BANK, to: acl, data: call('addBridge', [BANK]) }, ...caps]
}

/** The bank covers deficits. */
function umbrellaCall(market: RandomMarket): Transaction {
  const data = call('setAddress', [stringToHex('UMBRELLA', { size: 32 }), BANK])
  return { from: BANK, to: MARKETS[market].provider, data }
}
