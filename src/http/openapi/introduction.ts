/** Writes the introduction of the document, in Markdown. */
export function introductionText({
  baseUrl,
  first,
}: {
  /** Address of the service, without a slash at the end. */
  readonly baseUrl: string
  /** Path and query of the first example request. */
  readonly first: string
}): string {
  return `On-chain positions of a wallet: what it holds, earns, owes and risks. [How every figure is calculated](formulas).

- **Key**: every call carries \`Authorization: Bearer ws_sk_…\`; \`walletscope key create\` and the page Usage create keys.
- **First call**: \`curl -H "Authorization: Bearer $KEY" "${baseUrl}${first}"\`
- **Price**: each operation says its own in credits; only a 2xx is charged, \`X-Credits-Charged\` and \`X-Credits-Remaining\` tell how much.
- **Errors**: \`{ "error": { "code", "message", "request_id" } }\`; the message says what to change. Parameters and fields that an operation does not list are refused.
- **Retry** 429 and 503 after \`Retry-After\`, 502 and 504 after a short wait, nothing else. With an \`Idempotency-Key\` a repeated call is charged once.
- **Pages**: \`page\` and \`limit\` (at most 25); follow \`pagination.next_page\` until it is null. Lists are tables too: \`format=csv\`.
- **Past**: \`at_block\` or \`at_time\` answers as of then, on EVM chains; \`X-As-Of\` says which blocks were read.
- **Figures** are decimal text, never floats. Bodies above 1 kB are compressed with zstd or gzip if the client accepts it.
- **Clients**: \`walletscope openapi --client\` prints a typed one; generators take this document. **Agents** call the same at \`/mcp\`.
- HEAD is answered wherever GET is, at the same price, without a body. OPTIONS is answered with 204 and the methods of the path in \`Allow\`, free and without a key; any other method gets 405. A head of more than 16 kB gets 431 without a body.
`
}
