import { sharedAave } from '../devnet/aave_v3/shared.ts'
import { rowOver, stageOver } from './stage.ts'
const { devnet, aave } = await sharedAave()
const morpho = await devnet.morpho()
const stage = stageOver([rowOver([devnet.rpcUrl])])
const paths = [
  `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1`,
  `/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=3&page=2`,
  `/v1/positions/uniswap-v3?wallet=${devnet.wallets.spammed}`,
  `/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`,
  `/v1/lending/morpho-blue/position/1/yield?wallet=${morpho.wallets.supplier}&market_id=${morpho.markets.wethUsdc.id}`,
  `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1&at_block=${(await devnet.client.getBlockNumber())-3n}`,
  `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1&at_time=${(await devnet.client.getBlock()).timestamp}`,
]
for (const path of paths) {
  stage.requests.length = 0
  const plain = await stage.get(path)
  const n = [...stage.requests]; stage.requests.length = 0
  const r = await stage.get(`${path}&receipt=true`)
  console.log(path, plain.status, n.length, r.status, stage.requests.join(), r.headers.get('x-credits-charged'), plain.headers.get('x-credits-charged'), JSON.stringify(plain.body?.data) === JSON.stringify(r.body?.data), JSON.stringify(r.body?.receipt ?? r.body).length)
  if (r.status !== 200) console.log(r.text)
}
const r = await stage.get(`${paths[0]}&receipt=true`)
console.log(Buffer.from(r.body.receipt.payload,'base64').toString())
console.log((await stage.get(`${paths[0]}&receipt=proof`)).text)
let t = performance.now(); let c0=process.cpuUsage()
for (let i=0;i<200;i++) await stage.get(`${paths[0]}`)
let c1=process.cpuUsage(c0); console.log('plain cpu ms', (c1.user+c1.system)/200000, (performance.now()-t)/200)
t = performance.now(); c0=process.cpuUsage()
for (let i=0;i<200;i++) await stage.get(`${paths[0]}&receipt=true`)
c1=process.cpuUsage(c0); console.log('receipt cpu ms', (c1.user+c1.system)/200000, (performance.now()-t)/200)
process.exit(0)
