/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'kamino', name: 'Kamino on Solana' }
