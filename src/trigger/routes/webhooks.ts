import * as v from 'valibot'
import { messageRedeliver } from '../../../sql/queries.ts'
import { instantFrom, instantTo } from '../../http/request/input.ts'
import { idParameter, integerBetween, label } from '../../http/request/schema.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import { AddressError, resolveWebhookTarget } from '../deliver/address.ts'
import { webhookPublicKey, webhookSecret } from '../deliver/sign.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateWebhook,
  updateWebhook,
  type Webhook,
  type WebhookKey,
} from '../webhook.ts'
import { FEATURE, LIST_READ, MUTATION, PASS_THROUGH, SINGLE_READ, type TriggerServices } from './route_parts.ts'
import {
  countData,
  idOutput,
  redeliveredOutput,
  secretOutput,
  toIsoOrNull,
  webhookOutput,
  webhooksOutput,
} from './schema.ts'
import { sendTest } from './test_message.ts'

const NAME_LENGTH_MAX = 100
const OVERLAP_SEC = 86_400
const OVERLAP_SEC_MAX = 7 * 86_400
const REDELIVER_IDS_MAX = 1_000
const REDELIVER_MAX = 10_000
const REDELIVER_MS = 8_000

const one = v.object({ id: v.pipe(idParameter, v.description('Id of the webhook.')) })
const name = label(NAME_LENGTH_MAX)
const url = v.string('expected a URL')
const messageId = v.pipe(v.string('expected ids of messages'), v.uuid('expected ids of messages'))
const EXPECTED_IDS = `expected 1 to ${REDELIVER_IDS_MAX} ids of messages`

const redeliverBody = v.pipe(
  v.strictObject({
    ids: v.optional(
      v.pipe(
        v.array(messageId, EXPECTED_IDS),
        v.minLength(1, EXPECTED_IDS),
        v.maxLength(REDELIVER_IDS_MAX, EXPECTED_IDS),
      ),
    ),
    from: v.optional(instantFrom),
    to: v.optional(instantTo),
    after: v.optional(messageId),
  }),
  v.check(
    ({ ids, from, to }) => [from, to].every((each) => (each === undefined) === (ids !== undefined)),
    'Cannot read the body: expected either ids, or from and to',
  ),
  v.check(
    ({ ids, after }) => ids === undefined || after === undefined,
    'Cannot read the body: expected after beside from and to alone',
  ),
)

/** Where messages are posted, and how their signatures are checked. */
export function webhookRoutes(services: () => TriggerServices): readonly Route[] {
  const present = async (webhook: Webhook) => ({
    id: webhook.id,
    url: webhook.url,
    name: webhook.name,
    public_key: webhookPublicKey((await services().keys()).key),
    status: webhook.status,
    failing_since: toIsoOrNull(webhook.failing_since),
    overlap_until: toIsoOrNull(webhook.overlap_until),
    created_at: webhook.created_at.toISOString(),
  })
  const shown = async (key: WebhookKey) => ({ data: await present(await findWebhook(services().db, key)) })
  /** With its secret, which is shown when it is new. */
  const revealed = async (key: WebhookKey) => {
    const webhook = await findWebhook(services().db, key)
    const { master } = await services().keys()
    const secret = webhookSecret(master, { webhookId: webhook.id, generation: webhook.generation })
    return { data: { ...(await present(webhook)), secret } }
  }
  const parts = { ...FEATURE, input: one, errors: [404] } as const
  const base = '/v1/webhooks'

  return [
    defineRoute({
      ...FEATURE,
      ...MUTATION,
      method: 'POST',
      path: base,
      summary: 'Makes a webhook: messages of triggers are posted there, signed as Standard Webhooks have it.',
      description: 'The secret is shown here and by rotate only. The URL must be https and lead to public addresses.',
      input: v.object({}),
      body: v.strictObject({ url, name: v.optional(name) }),
      output: secretOutput,
      async read(asked, { organizationId }) {
        await checkUrl(asked.url, services())
        const { url, name = '' } = asked
        const id = await createWebhook(services().db, { organizationId, url, name })
        return await revealed({ organizationId, id })
      },
    }),
    defineRoute({
      ...FEATURE,
      ...PASS_THROUGH,
      ...LIST_READ,
      method: 'GET',
      path: base,
      summary: 'Lists the webhooks, oldest first.',
      input: v.object({}),
      output: webhooksOutput,
      read: async (_input, { organizationId }) => ({
        data: await Promise.all((await listWebhooks(services().db, organizationId)).map(present)),
      }),
      count: countData,
    }),
    defineRoute({
      ...parts,
      ...SINGLE_READ,
      method: 'GET',
      path: `${base}/:id`,
      summary: 'One webhook, and whether what is posted arrives.',
      output: webhookOutput,
      read: (asked, { organizationId }) => shown({ organizationId, id: asked.id }),
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'PATCH',
      path: `${base}/:id`,
      summary: 'Changes URL or name of a webhook, or starts one again that was stopped.',
      body: v.strictObject({
        url: v.optional(url),
        name: v.optional(name),
        status: v.optional(v.literal('active', 'expected "active"')),
      }),
      output: webhookOutput,
      async read(asked, { organizationId }) {
        const key = { organizationId, id: asked.id }
        if (asked.url !== undefined) await checkUrl(asked.url, services())
        await updateWebhook(services().db, key, {
          url: asked.url,
          name: asked.name,
          starts: asked.status === 'active',
        })
        return await shown(key)
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'DELETE',
      path: `${base}/:id`,
      summary: 'Deletes a webhook that no trigger posts to. What is still due for it is not posted.',
      output: idOutput,
      async read(asked, { organizationId }) {
        await deleteWebhook(services().db, { organizationId, id: asked.id })
        return { data: { id: asked.id } }
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/rotate`,
      summary: 'Gives a webhook a new secret. Meanwhile messages are signed with both.',
      body: v.strictObject({ overlap_sec: v.optional(integerBetween(0, OVERLAP_SEC_MAX), OVERLAP_SEC) }),
      output: secretOutput,
      async read(asked, { organizationId }) {
        const key = { organizationId, id: asked.id }
        await rotateWebhook(services().db, { ...key, overlapSec: asked.overlap_sec })
        return await revealed(key)
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/test`,
      summary: 'Posts a test message to a webhook, ten an hour at most.',
      output: idOutput,
      async read(asked, { organizationId, requestedAtMs }) {
        const webhook = await findWebhook(services().db, { organizationId, id: asked.id })
        const data = { webhook_id: webhook.id }
        const text = 'This is a test message of walletscope: this webhook works.'
        const at = { organizationId, webhookId: webhook.id, triggerId: null, atMs: requestedAtMs }
        return { data: { id: await sendTest(services().db, { ...at, text, data }) } }
      },
    }),
    defineRoute({
      ...parts,
      ...MUTATION,
      method: 'POST',
      path: `${base}/:id/redeliver`,
      summary: 'Posts messages of a webhook again whose tries are over: those with these ids, or of this time.',
      description:
        `A request takes ${REDELIVER_MAX} messages at most, the oldest first; if there may be more, ask again with the ` +
        'after of the answer.',
      body: redeliverBody,
      output: redeliveredOutput,
      budgetMs: REDELIVER_MS,
      async read(asked, { organizationId }) {
        const { db } = services()
        await findWebhook(db, { organizationId, id: asked.id })
        const { ids = null, from = null, to = null, after = null } = asked
        const chosen = { organizationId, webhookId: asked.id, ids, from, to, after, max: REDELIVER_MAX }
        const [row] = await messageRedeliver(db, chosen, { deadlineMs: REDELIVER_MS })
        const { redelivered = 0, last = null } = row ?? {}
        const more = redelivered === REDELIVER_MAX
        return { data: { redelivered, more, after: more ? last : null } }
      },
    }),
  ]
}

async function checkUrl(text: string, { rules }: TriggerServices): Promise<void> {
  try {
    await resolveWebhookTarget(text, rules)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    throw new CodedError('INVALID_PARAMETER', `Cannot read parameter "url": ${error.message}`)
  }
}
