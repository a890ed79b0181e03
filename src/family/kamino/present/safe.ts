/** Descriptions of the amounts that bring the health factor of an obligation down to the target. */
export const SAFE_AMOUNTS = {
  safeBorrow:
    'What can still be borrowed, at borrow factor 1, before the health factor falls to the target or the program refuses ' +
    'more: maximum loan-to-value, switched-off loans, caps, terms, and what the reserves that it owes to can lend; 0 while ' +
    'any wallet may liquidate it',
  safeWithdraw:
    'Collateral that can be taken out, in proportion, before the health factor falls to the target or the program refuses ' +
    'more: maximum loan-to-value, emergencies, caps, and what its reserves can pay; 0 for a debt while any wallet may ' +
    'liquidate it',
}
