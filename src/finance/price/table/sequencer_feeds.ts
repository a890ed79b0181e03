import type { Address } from 'viem'

/**
 * Feeds by chain id that tell since when the chain's sequencer is up or down.
 *
 * Sources. Chainlink, "L2 Sequencer Uptime Feeds" (https://docs.chain.link/data-feeds/l2-sequencer-feeds); the same
 * proxies but Scroll's stand in Aave's deployment of its price oracle sentinel. Left out: what only one of many users
 * names, and chains without such a feed.
 */
export const SEQUENCER_FEED_ROWS: Readonly<Record<number, Address>> = {
  // OP Mainnet
  10: '0x371EAD81c9102C9BF4874A9075FFFf170F2Ee389',
  // Metis
  1088: '0x58218ea7422255EBE94e56b504035a784b7AA204',
  // Base
  8453: '0xBCF85224fc0756B9Fa45aA7892530B47e10b6433',
  // Arbitrum One
  42161: '0xFdB631F5EE196F0ed6FAa767959853A9F217697D',
  // Scroll
  534352: '0x45c2b8C204568A03Dc7A2E32B71D67Fe97F908A9',
}
