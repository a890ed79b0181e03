import { ponder } from 'ponder:registry'
import { move } from 'ponder:schema'
import type { Hex } from 'viem'

interface Seen {
  readonly block: { readonly number: bigint; readonly timestamp: bigint }
  readonly transaction: { readonly hash: Hex }
  readonly log: { readonly logIndex: number }
}

function at({ block, transaction, log }: Seen) {
  return {
    block: Number(block.number),
    position: log.logIndex,
    hash: transaction.hash,
    time: Number(block.timestamp),
    leg: 0,
  }
}

ponder.on('Pool:Supply', async ({ event, context }) => {
  const { reserve: asset, user: counterparty, onBehalfOf: wallet, amount } = event.args
  await context.db.insert(move).values({ ...at(event), kind: 'supply', wallet, asset, amount, counterparty })
})

ponder.on('Pool:Withdraw', async ({ event, context }) => {
  const { reserve: asset, user: wallet, to: counterparty, amount } = event.args
  await context.db.insert(move).values({ ...at(event), kind: 'withdraw', wallet, asset, amount, counterparty })
})

ponder.on('Pool:Borrow', async ({ event, context }) => {
  const { reserve: asset, user: counterparty, onBehalfOf: wallet, amount } = event.args
  await context.db.insert(move).values({ ...at(event), kind: 'borrow', wallet, asset, amount, counterparty })
})

ponder.on('Pool:Repay', async ({ event, context }) => {
  const { reserve: asset, user: wallet, repayer: counterparty, amount } = event.args
  await context.db.insert(move).values({ ...at(event), kind: 'repay', wallet, asset, amount, counterparty })
})

ponder.on('Pool:LiquidationCall', async ({ event, context }) => {
  const { collateralAsset, debtAsset, user: wallet, debtToCover, liquidatedCollateralAmount } = event.args
  const both = { ...at(event), kind: 'liquidation', wallet, counterparty: event.args.liquidator }
  await context.db.insert(move).values([
    { ...both, asset: debtAsset, amount: debtToCover },
    { ...both, leg: 1, asset: collateralAsset, amount: liquidatedCollateralAmount },
  ])
})
