import { KAMINO_MAIN, type KaminoMarket } from '../../finance/price/table/kamino.ts'

/**
 * Markets of Kamino Lend on mainnet: main, JLP, Altcoins and Ethena by two public sources or more, Jito, Prime, Maple
 * and OnRe by one. Each row is a hint: a market counts only after its account was read.
 */
const KAMINO_MARKETS: readonly KaminoMarket[] = [
  KAMINO_MAIN,
  { market: 'DxXdAyU3kCjnyggvHmY5nAwg5cRbbmdyX3npfDMjjMek', reserves: [] },
  { market: 'ByYiZxp8QrdN9qbdtaAiePN8AAr3qvTPppNJDpf5DVJ5', reserves: [] },
  { market: 'BJnbcRHqvppTyGesLzWASGKnmnF1wq9jZu6ExrjT7wvF', reserves: [] },
  { market: 'H6rHXmXoCQvq8Ue81MqNh7ow5ysPa1dSozwW3PU1dDH6', reserves: [] },
  { market: 'CqAoLuqWtavaVE8deBjMKe8ZfSt9ghR6Vb8nfsyabyHA', reserves: [] },
  { market: '6WEGfej9B9wjxRs6t4BYpb9iCXd8CpTpJ8fVSNzHCC5y', reserves: [] },
  { market: '47tfyEG9SsdEnUm9cw5kY9BXngQGqu3LBoop9j5uTAv8', reserves: [] },
]

/** Merges the built-in markets with configured rows; rows of the same market become one. */
export function mergeMarkets(rows: readonly KaminoMarket[]): readonly KaminoMarket[] {
  const markets = new Map<string, KaminoMarket>()
  for (const row of [...KAMINO_MARKETS, ...rows]) {
    const existing = markets.get(row.market)
    const reserves = [...new Set([...(existing?.reserves ?? []), ...row.reserves])]
    markets.set(row.market, { ...existing, ...row, reserves })
  }
  return [...markets.values()]
}
