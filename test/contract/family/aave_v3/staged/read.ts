import type { Address } from 'viem'
import { readLatestBlock } from '../../../../../src/chain/evm/read_block.ts'
import type { Endpoint } from '../../../../../src/chain/rpc/client.ts'
import type { RawCategory } from '../../../../../src/family/aave_v3/math/state.ts'
import type { RawAccount, RawRead, RawReserve } from '../../../../../src/family/aave_v3/read/abi.ts'
import { type ChainRead, interpret } from '../../../../../src/family/aave_v3/read/position.ts'
import type { AaveV3Deployment } from '../../../../../src/family/aave_v3/table/deployments.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import { MULTICALL3 } from '../../../../devnet/addresses.ts'
import { multicall, multicallEach } from '../../../../support/staged/multicall.ts'
import { askCategory, askReserve } from './facts.ts'
import { readMarkets } from './markets.ts'
import { createRound, type Round } from './round.ts'
import { askWallet, type StagedWallet } from './wallets.ts'

/** Where the staged reading asks. */
interface StagedSource {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly multicall3: Address
  readonly providers: readonly Address[]
}

/** What wallets have on one chain, read in stages and interpreted as the real reader does. */
export async function readWalletsStaged(
  client: FinanceClient,
  { deployments, wallets }: { readonly deployments: readonly AaveV3Deployment[]; readonly wallets: readonly Address[] },
  signal: AbortSignal,
): Promise<ChainRead> {
  const providers = deployments.map(({ poolAddressesProvider }) => poolAddressesProvider)
  const attempt = (endpoint: Endpoint, within: AbortSignal) =>
    readStaged({ endpoint, chainId: client.chain.id, multicall3: MULTICALL3, providers }, wallets, within)
  return interpret(await client.read(attempt, { signal, budgetMs: 20_000 }), { deployments, wallets })
}

/**
 * What wallets have, in rounds of many calls at the latest block, equal to what the lens answers: three for the
 * markets, one for balances, one for debts and the facts of all that is held, one for what depends on those.
 */
async function readStaged(source: StagedSource, wallets: readonly Address[], signal: AbortSignal): Promise<RawRead> {
  const { endpoint, chainId, multicall3, providers } = source
  // The lens does not answer a block hash.
  const { hash, ...block } = await readLatestBlock(endpoint, chainId, signal)
  const options = { block: { hash }, multicall3 }
  const begin = (): Round => createRound((calls) => multicall(endpoint, { ...options, calls }, signal))
  const beginEach = (): Round => createRound((calls) => multicallEach(endpoint, { ...options, calls }, signal))

  const markets = await readMarkets(providers, begin)
  const balances = begin()
  const asked = wallets.flatMap((address, wallet) =>
    markets.flatMap((market, at) => (market.answered ? [askWallet(balances, { wallet, address, market, at })] : [])),
  )
  await balances.run()

  const details = beginEach()
  const followed = asked.map((each) => each.follow(details))
  const facts = askFacts(details, asked)
  await details.run()

  const last = beginEach()
  const finished = followed.map((follow) => follow(last))
  const prices = facts.categories.map(({ priceOf }) => priceOf(last))
  await last.run()

  const outcomes = finished.map((finish) => finish())
  const accounts = outcomes.flatMap((outcome) => (outcome.kind === 'account' ? [outcome.account] : []))
  const found = {
    reserves: facts.reserves.map((reserve) => reserve()),
    categories: facts.categories.map(({ category }, at) => ({ ...category(), price: prices[at]?.() ?? 0n })),
  }
  return {
    block,
    taken: wallets.length,
    markets: markets.map(({ answered, unit, features, sentinel, lenders }) => ({
      answered,
      unit,
      features,
      sentinel,
      lenders,
    })),
    ...inOrderOfUse(accounts, found),
    accounts,
    broken: outcomes.flatMap((outcome) => (outcome.kind === 'broken' ? [outcome.broken] : [])),
  }
}

/** Asks once for every reserve that a wallet may hold, and for every category that one is in. */
function askFacts(round: Round, asked: readonly StagedWallet[]) {
  const reserves = new Map<string, ReturnType<typeof askReserve>>()
  const categories = new Map<string, ReturnType<typeof askCategory>>()
  for (const { place, reserves: held, category } of asked) {
    const { market, at } = place
    const used = held()
    for (const reserve of used) {
      const key = `${at}:${reserve.id}`
      if (!reserves.has(key)) reserves.set(key, askReserve(round, { market, at, reserve }))
    }
    const id = category() ?? 0
    const key = `${at}:${id}`
    if (used.length === 0 || id === 0 || categories.has(key)) continue
    categories.set(key, askCategory(round, { market, at, id }))
  }
  return { reserves: [...reserves.values()], categories: [...categories.values()] }
}

/** Reserves and categories that accounts use, first used first, as the lens writes them. */
function inOrderOfUse(
  accounts: readonly RawAccount[],
  found: { readonly reserves: readonly RawReserve[]; readonly categories: readonly RawCategory[] },
): Pick<RawRead, 'reserves' | 'categories'> {
  const reserves = new Map<string, RawReserve>()
  const categories = new Map<string, RawCategory>()
  const reserveByKey = new Map(found.reserves.map((each) => [`${each.market}:${each.id}`, each]))
  const categoryByKey = new Map(found.categories.map((each) => [`${each.market}:${each.id}`, each]))
  for (const { market, category, holdings } of accounts) {
    for (const { reserve } of holdings) {
      const key = `${market}:${reserve}`
      const fact = reserveByKey.get(key)
      if (fact !== undefined) reserves.set(key, reserves.get(key) ?? fact)
    }
    const key = `${market}:${category}`
    const fact = categoryByKey.get(key)
    if (fact !== undefined) categories.set(key, categories.get(key) ?? fact)
  }
  return { reserves: [...reserves.values()], categories: [...categories.values()] }
}
