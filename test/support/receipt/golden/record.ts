/**
 * `bun test/support/receipt/golden/record.ts`: records the golden receipts anew, on a devnet of its own. To be run after the
 * revision of a family has risen, or after a lens has changed.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { presentKeys } from '../../../../src/receipt/keys.ts'
import { placeSecondManager, SECOND } from '../../../contract/family/uniswap_v3/second_manager.ts'
import { published, rowOver, stageOver } from '../../../contract/receipt/stage.ts'
import { AAVE_TOKENS } from '../../../devnet/aave_v3/addresses.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { TOKENS, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { liquidityWorth } from '../../../devnet/uniswap_v4/pools.ts'
import { testDatabase } from '../../database.ts'
import { recordKamino } from './kamino.ts'

const FOLDER = import.meta.dir
const LIST = '/v1/positions/uniswap-v3'
const LENDING = '/v1/lending/aave-v3'

const { devnet, aave } = await sharedAave()
const morpho = await devnet.morpho()
const { wallet: hostile } = await devnet.hostile()
const crowd = await devnet.mintMany(devnet.wallets.single, 60)
await placeSecondManager(devnet)
const v4 = await devnet.uniswapV4()
const [nativeId, hookedId] = await v4.mintMany(
  [v4.pools.native, v4.pools.dynamicFee].map((pool) => {
    const range = rangeAround(pool, -900, 900)
    return {
      pool,
      ...range,
      liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }),
      recipient: devnet.wallets.single,
    }
  }),
)
const uniswapV3 = [{ manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory }, SECOND]
const stage = stageOver([rowOver([devnet.rpcUrl])])
const two = stageOver([rowOver([devnet.rpcUrl], { uniswapV3 })], stage.signer)
const height = await devnet.client.getBlockNumber()
const { timestamp } = await devnet.client.getBlock({ blockNumber: height - 9n })
const { wallets, positions } = devnet
const { markets, wallets: people } = morpho
const formatYieldPath = (wallet: string, market: { readonly id: string }) =>
  `/v1/lending/morpho-blue/position/1/yield?wallet=${wallet}&market_id=${market.id}`

const CASES: Readonly<Record<string, string>> = {
  uniswap_v3_position: `${LIST}/${positions.good}?chain_id=1`,
  uniswap_v3_closed: `${LIST}/${positions.closed}?chain_id=1`,
  uniswap_v3_old_block: `${LIST}/${positions.good}?chain_id=1&at_block=${height - 9n}`,
  uniswap_v3_old_time: `${LIST}/${positions.good}?chain_id=1&at_time=${timestamp}`,
  uniswap_v3_list: `${LIST}?wallet=${wallets.provider}`,
  uniswap_v3_inactive: `${LIST}?wallet=${wallets.provider}&status=inactive`,
  uniswap_v3_middle_page: `${LIST}?wallet=${wallets.single}&limit=25&page=2`,
  uniswap_v3_spam: `${LIST}?wallet=${wallets.spammed}`,
  uniswap_v3_odd_tokens: `${LIST}?wallet=${hostile}&limit=25`,
  uniswap_v4_native: `/v1/positions/uniswap-v4/${nativeId}?chain_id=1`,
  uniswap_v4_hook: `/v1/positions/uniswap-v4/${hookedId}?chain_id=1`,
  uniswap_v3_nothing: `${LIST}?wallet=${wallets.empty}`,
  aave_v3_three_markets: `${LENDING}?wallet=${aave.wallets.borrower}`,
  aave_v3_emode: `${LENDING}?wallet=${aave.wallets.mixedEmode}&market_id=main&target_health_factor=2.5`,
  aave_v3_isolated: `${LENDING}?wallet=${aave.wallets.isolated}`,
  aave_v3_not_collateral: `${LENDING}?wallet=${aave.wallets.switchedOff}`,
  aave_v3_old_block: `${LENDING}?wallet=${aave.wallets.emode}&chain_id=1&at_block=${height - 9n}`,
  morpho_blue_both: formatYieldPath(people.both, markets.wethUsdc),
  morpho_blue_bad_debt: formatYieldPath(people.badDebt, markets.crashed),
  morpho_blue_idle: formatYieldPath(people.supplier, markets.idle),
  morpho_blue_linear: formatYieldPath(people.supplier, markets.linear),
  morpho_blue_old_block: `${formatYieldPath(people.supplier, markets.wethUsdc)}&at_block=${height - 9n}`,
}

for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.json'))) rmSync(join(FOLDER, name))
const write = (name: string, value: unknown) =>
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(value)}\n`)
for (const [name, path] of Object.entries(CASES)) {
  const { status, body, text } = await stage.get(`${path}&receipt=true`)
  if (status !== 200) throw new Error(`${name}: ${text}`)
  write(name, body.receipt)
}
// One token of the market has a feed, and the other is priced by the market's own oracle.
const { usdc } = TOKENS
const prices = { usdFeeds: { [usdc.address]: usdc.feed }, stablecoins: [], wrappers: [], aaveOracle: people.none }
const oneFeed = stageOver([rowOver([devnet.rpcUrl], { prices })], stage.signer)
const byOracle = await oneFeed.get(`${formatYieldPath(people.both, markets.wethUsdc)}&receipt=true`)
write('morpho_blue_one_feed', byOracle.body.receipt)
const both = await two.get(`${LIST}?wallet=${wallets.receiver}&receipt=true`)
write('uniswap_v3_two_managers', both.body.receipt)
const batch = await stage.post(`${LENDING}/batch?receipt=true&limit=25`, {
  wallets: [...Object.values(aave.wallets), wallets.empty],
  chain_id: 1,
})
write('aave_v3_batch', batch.body.receipt)
// A wallet with a token without a price gets no answer; all other wallets do.
await aave.setPrice('breakable', 0n)
const unpriced = await stage.get(`${LENDING}?wallet=${aave.wallets.borrower}&receipt=true`)
write('aave_v3_missing_price', unpriced.body.receipt)
await aave.setPrice('breakable', BigInt(Math.round(AAVE_TOKENS.breakable.usd * 1e8)))
const proven = await stage.get(`${CASES['morpho_blue_both']}&receipt=proof`)
write('morpho_blue_proven', proven.body.receipt)
const database = await testDatabase()
const remembering = stageOver([rowOver([devnet.rpcUrl])], stage.signer, { db: database.db })
const full = await remembering.get(`${LIST}/${positions.good}?chain_id=1&full=true&receipt=true`)
if (full.status !== 200) throw new Error(full.text)
write('uniswap_v3_full', full.body.receipt)
const quotes = (['weth', 'usdc', 'usdt', 'dai'] as const).map((name) => TOKENS[name].address)
const { prices: feeds, ...row } = rowOver([devnet.rpcUrl], { aaveV3: [] })
const pools = { uniswapV3Factory: UNISWAP_V3.factory, quotes }
const selling = stageOver([{ ...row, prices: { ...feeds, ...pools } }], stage.signer, { db: database.db })
const EXITS = {
  portfolio_exit: `/v1/portfolio/exit?wallet=${people.both}&chain_id=1`,
  portfolio_exit_sale: `/v1/portfolio/exit?wallet=${wallets.provider}&chain_id=1&sell_into=USDC`,
}
for (const [name, path] of Object.entries(EXITS)) {
  const { status, body, text } = await selling.get(`${path}&receipt=true`)
  if (status !== 200) throw new Error(`${name}: ${text}`)
  write(name, body.receipt)
}
for (const [name, receipt] of await recordKamino(stage.signer)) write(name, receipt)
write('keys', presentKeys([published(stage)]))
process.stdout.write(
  `Recorded ${Object.keys({ ...CASES, ...EXITS }).length + 8} receipts, ${crowd.length} positions minted\n`,
)
await selling.close()
await remembering.close()
await database.close()
await devnet.stop()
process.exit(0)
