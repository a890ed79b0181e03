/** A limit of one request on what it may be charged besides the balance. Credits are taken from it before the charge. */
export interface Purse {
  /** Throws `CodedError` if what is left cannot pay this much. Changes nothing. */
  check(organizationId: string, creditsMin: number): Promise<void>
  /** Takes credits, at most once. Throws `CodedError` if what is left cannot pay them. */
  take(organizationId: string, credits: number): Promise<void>
  /** Puts back what was taken beyond what was charged. Never rejects: what cannot be put back stays taken. */
  close(creditsCharged: number): Promise<void>
}
