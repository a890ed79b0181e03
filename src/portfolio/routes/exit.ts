import * as v from 'valibot'
import type { Address } from 'viem'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { toAsOf } from '../../family/moment.ts'
import { findFeedToken } from '../../finance/chain.ts'
import { configuredChainId, documented, evmAddress, moment, momentRule } from '../../http/request/input.ts'
import { receipt } from '../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import type { Work } from '../../lib/async/work.ts'
import { CodedError } from '../../lib/error.ts'
import { isBase58Address } from '../../lib/text/base58.ts'
import { type ExitRead, listSellable, presentExit } from '../exit/present.ts'
import type { ExitReader } from '../exit/read.ts'
import { exitOutput } from '../exit/schema.ts'
import type { SaleReader } from '../exit/sell.ts'
import type { PortfolioQuery, WalletAssets } from '../read/read_wallet.ts'
import { classifyAssets } from '../sum/classify.ts'
import { sortRows } from './assets.ts'
import { addCurrency, currencyParameter, readRate } from './currency.ts'
import { walletAddress, walletRule } from './input.ts'
import { type PortfolioOptions, readRows } from './rows.ts'

interface ExitReaders {
  readonly exits: () => ExitReader
  readonly sales: () => SaleReader
}

/** Budget of the reads and of the calls that execute, milliseconds. */
const BUDGET_MS = 20_000

/** Defines the route that executes a wallet's exit, and undoes it. */
export function exitRoute(options: PortfolioOptions & ExitReaders): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/portfolio/exit',
    operation: 'portfolio_exit',
    tool: { name: 'read_exit', title: 'What a wallet can take out' },
    summary: 'Executes what a wallet would do to take out all it has on a chain, undoes it, and says what arrives.',
    description:
      'The rows are those of `/v1/portfolio/assets` at the same block. Every position is withdrawn as the wallet, with the ' +
      'contracts as they are; debts are repaid first, with money from elsewhere that is subtracted. Nothing is sent to the ' +
      'chain. Gas fees, rewards and interest after the block are not in it.',
    input: v.pipe(
      v.object({
        wallet: walletAddress,
        chain_id: configuredChainId([...options.chainIds, SOLANA_CHAIN_ID]),
        sell_into: v.optional(
          v.pipe(
            v.union([v.literal(USDC), evmAddress], `expected ${USDC} or the address of a token`),
            documented({
              type: 'string',
              description:
                'A token, USDC or an address, that all that arrives and counts is sold for, in the same call: each token in ' +
                'its deepest pool of Uniswap V3 that leads there, or over one more. `sale` says what it brings.',
              examples: [USDC],
            }),
          ),
        ),
        ...currencyParameter,
        ...moment,
        ...receipt,
      }),
      walletRule(),
      momentRule(),
      receiptRule(),
    ),
    output: exitOutput,
    errors: [502, 503],
    charge: { credits: 15, per: 'wallet with anything but spam' },
    budgetMs: BUDGET_MS,
    async read(query, { work }) {
      const { wallet, chain_id, sell_into } = query
      const into = sell_into && resolveToken(sell_into, chain_id)
      const exitRead = await readWalletExit(options, query, work)
      const rate = await readRate(options.rates, query, { reads: exitRead.reads, unread: [] }, work)
      const read = { ...exitRead, rate }
      const exits = read.reads[0]?.exits
      if (into === undefined || exits === undefined) return read
      const { outside } = read.exit
      const target = { wallet: wallet as Address, exits, into }
      const sale = await options.sales().read({ ...target, arrived: listSellable(read), outside }, work)
      return { ...read, sale }
    },
    count: ({ rows }) => (rows.some(({ verdict }) => verdict.counted || !FREE.has(verdict.reason)) ? 1 : 0),
    present: ({ reads, rate, ...exit }) => addCurrency({ data: presentExit(exit), asOf: toAsOf(reads) }, rate),
  })
}

/** Reads a wallet's rows on a chain and executes their exit at the same block. Throws as its readers. */
export async function readWalletExit(
  options: Pick<PortfolioOptions, 'portfolio'> & Pick<ExitReaders, 'exits'>,
  query: Omit<PortfolioQuery, 'allow_partial' | 'tokens'>,
  work: Work,
): Promise<ExitRead & Pick<WalletAssets, 'reads'>> {
  const all = { ...query, allow_partial: false, include_unlisted: false }
  const { reads, unsourced, omitted, coverage } = await readRows(options, all, work)
  const assets = (await Promise.all(reads.map((read) => read.itemize?.(work) ?? read.assets))).flat()
  const found = classifyAssets(assets, { includeUnlisted: false })
  const assetByRow = new Map(found.flatMap((row, index) => (assets[index] ? [[row, assets[index]] as const] : [])))
  // What is as much worth is taken out in the order of the answer.
  const rows = sortRows(found)
  const [read] = reads
  await yieldToEventLoop()
  const exit = await options.exits().read({ ...query, read, rows }, work)
  await yieldToEventLoop()
  const isComplete = (coverage.found_by ?? []).every(({ complete }) => complete)
  return { reads, rows, assets: assetByRow, exit, isComplete, totals: { unsourced, omitted } }
}

/** Checks that a receipt is asked for where the chain's past can be read again. */
function receiptRule<Input extends { readonly wallet: string; readonly receipt?: string | undefined }>() {
  return v.rawCheck<Input>(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { wallet, receipt: kind } = dataset.value
    if (kind !== undefined && isBase58Address(wallet))
      addIssue({ message: `Cannot read parameter "receipt": ${SOLANA_REFUSED}, got "${kind}"` })
  })
}

const SOLANA_REFUSED = 'expected nothing for a Solana wallet, because endpoints of Solana keep no past state'

const USDC = 'USDC'

/** Throws `CodedError` INVALID_PARAMETER if the chain has no such token. */
function resolveToken(token: typeof USDC | Address, chainId: number): Address {
  const found = token === USDC ? findFeedToken(chainId, token) : token
  if (found !== undefined) return found
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot read parameter "sell_into": expected the address of a token, because no ${token} of chain ${chainId} is known`,
  )
}

const FREE: ReadonlySet<string> = new Set(['spam', 'dust'])
