import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../../src/chain/block.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import { BANK } from '../../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { caseCount } from '../../../../support/cases.ts'
import {
  balanceCall,
  createClient,
  createCode,
  deploy,
  listedChain,
  mintCall,
  newestBlock,
  read,
  transferCall,
  walletAt,
} from './world.ts'

const WALLETS = Array.from({ length: caseCount(150, 60) }, (_, index) => walletAt(1_000 + index))
const BLOCKS = 5
/** In each block: some wallets get nothing. */
const MOVES = Math.ceil((4 * WALLETS.length) / 3)

/** A chain on which wallets have come and gone, and blocks of its past. */
interface World {
  readonly devnet: Devnet
  readonly client: FinanceClient
  readonly tokens: readonly Address[]
  readonly blocks: readonly PinnedBlock[]
}

const worlds: World[] = []

/** Numbers from 0 to below 1, the same in every run. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function build(chainId: number): Promise<World> {
  const devnet = await startDevnet({ chainId })
  const chance = random(chainId)
  const [bare = zeroAddress, rebasing = zeroAddress] = await deploy(devnet, [
    createCode('BareToken'),
    createCode('RebasingToken'),
  ])
  const others = await deploy(devnet, [
    createCode('Bytes32Token'),
    createCode('FeeToken'),
    createCode('ProxyToken', bare),
    createCode('ProxyToken', rebasing),
  ])
  const [, fee = zeroAddress, proxy = zeroAddress] = others
  const tokens = [bare, rebasing, ...others, devnet.addresses.tokens.usdc.address, devnet.addresses.tokens.wbtc.address]
  const client = createClient(listedChain(devnet, tokens))
  const some = (): Address => WALLETS[Math.floor(chance() * WALLETS.length)] ?? BANK
  const amount = () => BigInt(Math.floor(chance() * 2 ** 40)) ** 2n
  await devnet.send([fee, proxy].map((token) => mintCall(token, BANK, 2n ** 200n)))
  const blocks: PinnedBlock[] = []
  for (let block = 0; block < BLOCKS; block++) {
    await devnet.send(
      Array.from({ length: MOVES }, () => {
        const token = tokens[Math.floor(chance() * tokens.length)] ?? bare
        if (chance() < 0.15) return { from: BANK, to: some(), data: '0x' as const, value: amount() }
        return token === fee || (token === proxy && chance() < 0.3)
          ? transferCall(token, { from: BANK, to: some(), value: amount() })
          : mintCall(token, some(), amount())
      }),
    )
    blocks.push(await newestBlock(client))
  }
  return { devnet, client, tokens, blocks }
}

beforeAll(async () => {
  worlds.push(...(await Promise.all([build(1), build(10)])))
}, 300_000)
afterAll(() => Promise.all(worlds.map(({ devnet }) => devnet.stop())))

test(`${WALLETS.length} random wallets on two chains at five past blocks match separate calls of each token`, async () => {
  const seen = { rows: 0, empty: 0, answers: 0 }
  for (const { devnet, client, tokens, blocks } of worlds) {
    for (const block of blocks) {
      const asked = WALLETS.flatMap((wallet) =>
        [undefined, ...tokens].map((token) => balanceCall(wallet, token, block)),
      )
      const answers = (await devnet.rpc.batch<string>(asked)).map(BigInt)
      const founds = await Promise.all(WALLETS.map((wallet) => read(client, { wallet, block })))
      for (const [index, { rows, block: at }] of founds.entries()) {
        const own = answers.slice(index * (tokens.length + 1), (index + 1) * (tokens.length + 1))
        const theirs = [zeroAddress, ...tokens].flatMap((token, place) => {
          const raw = own[place] ?? 0n
          return raw === 0n ? [] : [[token, raw]]
        })
        expect(rows.map(({ token, raw }) => [token.address, raw])).toEqual(theirs as never)
        expect(at.number).toBe(block.number)
        seen.rows += rows.length
        seen.answers += own.length
        if (rows.length === 0) seen.empty++
      }
    }
  }
  expect(seen.answers).toBe(2 * BLOCKS * WALLETS.length * 9)
  expect(seen.rows).toBeGreaterThan(16 * WALLETS.length)
  expect(seen.empty).toBeGreaterThan(WALLETS.length / 15)
}, 300_000)
