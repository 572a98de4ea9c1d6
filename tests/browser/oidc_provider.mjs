// A certified provider of OpenID Connect (oidc-provider) with its own login pages: any name, any password.
// Its options are one argument, JSON. It prints a line when it listens, and ends with its standard input.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import Provider from "oidc-provider";

const options = JSON.parse(process.argv[2]);

const now = Date.now;
let clockDifference = options.clockDifferenceSeconds * 1000;
Date.now = () => now() + clockDifference;

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const key = { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };

const provider = new Provider(options.issuer, {
  clients: [
    {
      client_id: "fieldgate",
      client_secret: options.clientSecret,
      redirect_uris: options.redirectURIs,
      post_logout_redirect_uris: options.postLogoutURIs,
    },
  ],
  jwks: { keys: [key] },
  claims: { openid: ["sub"], profile: ["preferred_username", "given_name"], email: ["email", "email_verified"] },
  findAccount: (context, id) => ({
    accountId: id,
    claims: () => ({ sub: `subject-of-${id}`, preferred_username: id, given_name: id, email_verified: true }),
  }),
  ttl: { AuthorizationCode: 60, Session: 3600, Interaction: 600, Grant: 3600, IdToken: 600, AccessToken: 600 },
  cookies: { keys: ["of a test"] },
});

provider.use(async (context, next) => {
  await next();
  const location = context.response.get("Location") ?? "";
  if (location.includes("?code=")) {
    // The response of the authorization endpoint.
    clockDifference += options.codeDelaySeconds * 1000;
    if (options.wrongIssuer) {
      // RFC 9207, as if it were mixed up with another provider.
      const url = new URL(location);
      url.searchParams.set("iss", options.wrongIssuer);
      context.set("Location", url.href);
    }
  }
});

process.stdin.on("end", () => process.exit()).resume();
provider.listen(options.port, "127.0.0.1", () => console.log("listening"));
