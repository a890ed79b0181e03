// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../../../finance/price/prices.sol';
import {Tokens} from '../../../finance/token/tokens.sol';

interface IVault {
    function asset() external view;
    function balanceOf(address) external view;
    function convertToAssets(uint256) external view;
    function maxWithdraw(address) external view;
    function paused() external view;
    function cooldownDuration() external view;
    function cooldowns(address) external view;
    function getStakerCooldown(address) external view;
    function liquidityAdapter() external view;
    function liquidityData() external view;
    function isAdapter(address) external view;
    function canSendShares(address) external view;
    function canReceiveAssets(address) external view;
    function MORPHO() external view;
    function withdrawQueueLength() external view;
    function withdrawQueue(uint256) external view;
}

interface IMorpho {
    function position(bytes32, address) external view;
    function market(bytes32) external view;
    function idToMarketParams(bytes32) external view;
}

interface IFactory {
    function isMetaMorpho(address) external view;
    function isVaultV2(address) external view;
    function isInRegistry(address) external view;
}

interface IAdapter {
    function parentVault() external view;
    function morphoVaultV1() external view;
    function morpho() external view;
    function expectedSupplyAssets(bytes32) external view;
}

/// Reads what wallets have in vaults, in one `eth_call`. It is never deployed: its code stands at an address for the
/// length of one call, or runs as the creation code of one.
///
/// A holding is what one wallet has in one vault; they are asked wallet by wallet, and a page is a range of them. The
/// answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header     as in `page.sol`; `taken` counts holdings
///   1 vault    u16 vault, u8 class: 0 no factory made it, 1 a MetaMorpho, 2 a Morpho Vault V2; the share, the asset and
///              its price; u8 1 if it says that it is paused; optional duration of its cooldown; of class 2: u256 assets
///              that it holds, u8 0 without a liquidity adapter of its own, 1 with one of a market, 2 with one of a
///              MetaMorpho, 3 with one that is not known; of 1 and 2: u256 assets that the adapter has, u256 what its
///              market can pay; of 1: bytes32 id of the market; of 2: the MetaMorpho, and its queue
///   2 holding  u32 wallet, u16 vault, u256 shares, optional assets, optional u256 most that can be withdrawn; of class 2:
///              0 in its place if a gate refuses the wallet, else 1; u256 assets or shares in a cooldown, u64 its end, u64
///              length of the window after it
///   3 silent   u32 wallet, u16 vault: it does not answer, nor is it asked again
///   queue      u8 number of markets of Morpho Blue, in the order in which a MetaMorpho withdraws, 255 if it does not tell;
///              of each: bytes32 id, u256 assets that the MetaMorpho has in it, u256 what it can pay
///   optional   u8 1 if it is known, u256; tokens as in `tokens.sol`, their prices as in `prices.sol`
///
/// A vault is written before the first holding in it. One without code has no holdings, nor has one that a caller names
/// and no factory made. A page ends early, and says so by `taken`, before gas could run out inside a call or the answer
/// grow too long.
contract Lens is LensPage, Tokens, Prices {
    /// A MetaMorpho takes 45,000 a market of its queue, which holds 30, to tell a worth, and more to tell what it can pay.
    uint256 private constant WORTH_GAS = 2_000_000;
    uint256 private constant WITHDRAWAL_GAS = 3_000_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 150_000;
    uint256 private constant SILO = 1;
    uint256 private constant WINDOW = 2;
    /// Named by a caller: a vault only if a factory made it.
    uint256 private constant NAMED = 3;
    uint256 private constant METAMORPHO = 1;
    uint256 private constant VAULT_V2 = 2;
    /// The five words of a market of Morpho Blue.
    uint256 private constant MARKET_BYTES = 160;
    /// A MetaMorpho has no more markets in its queue.
    uint256 private constant QUEUE_MAX = 30;
    uint256 private constant QUEUE_UNTOLD = 255;
    /// Far above any rate of a market, per second, 18 decimals.
    uint256 private constant RATE_MAX = 1e14;
    uint256 private constant WAD = 1e18;

    struct Vault {
        address at;
        uint256 kind;
        uint256 index;
        uint256 class;
        bool known;
        bool absent;
        bool written;
        bool silent;
        /// True once it used up the gas of a call: it is not asked for figures again.
        bool struck;
    }

    /// Contracts that tell which code is Morpho's.
    struct Registries {
        address[] metaMorpho;
        address[] vaultV2;
        address[] adapters;
    }

    /// `count` holdings from that numbered `first` on, by wallet, then by vault; `kinds` has a byte for each vault.
    function read(
        address[] calldata at,
        bytes calldata kinds,
        Registries memory registries,
        address[] calldata wallets,
        uint256 first,
        uint256 count,
        uint256 bytesMax,
        PriceSources calldata prices
    ) external view {
        Page memory page;
        page.question = reserve(384);
        page.answer = reserve(352);
        Vault[] memory vaults = new Vault[](at.length);
        for (uint256 i = 0; i < at.length; i++) {
            vaults[i].at = at[i];
            vaults[i].kind = uint8(kinds[i]);
            vaults[i].index = i;
        }
        begin(page);
        page.checkpoint = page.cursor;
        for (uint256 n = 0; n < count; n++) {
            uint256 w = (first + n) / at.length;
            Vault memory vault = vaults[(first + n) % at.length];
            uint256 start = page.cursor;
            if (!vault.absent && !vault.silent && !holding(page, vault, registries, w, wallets[w], prices)) {
                page.cursor = start;
                vault.silent = true;
                put(page, 3, 1);
                put(page, w, 4);
                put(page, vault.index, 2);
            }
            if (page.cursor - page.start > bytesMax) finish(page);
            page.checkpoint = page.cursor;
            page.taken = n + 1;
        }
        finish(page);
    }

    /// Records of one holding: nothing if there is none; false if the vault does not answer.
    function holding(
        Page memory page,
        Vault memory vault,
        Registries memory registries,
        uint256 w,
        address wallet,
        PriceSources calldata prices
    ) private view returns (bool) {
        if (!vault.known) {
            vault.known = true;
            vault.absent = vault.at.code.length == 0;
            if (vault.absent) return true;
            if (vault.kind == NAMED) classify(page, vault, registries);
            vault.absent = vault.kind == NAMED && vault.class == 0;
            if (vault.absent) return true;
        }
        if (!ask1(page, vault.at, IVault.balanceOf.selector, uint160(wallet), 32)) return false;
        uint256 shares = word(page.answer);
        uint256 cooling = 0;
        uint256 end = 0;
        uint256 window = 0;
        if (vault.kind == SILO) {
            if (!ask1(page, vault.at, IVault.cooldowns.selector, uint160(wallet), 64)) return false;
            end = word(page.answer);
            cooling = word(page.answer + 32);
        }
        if (shares == 0 && cooling == 0) return true;
        if (vault.kind == WINDOW) {
            if (!ask1(page, vault.at, IVault.getStakerCooldown.selector, uint160(wallet), 96)) return false;
            cooling = word(page.answer);
            end = word(page.answer + 32);
            window = word(page.answer + 64);
        }
        if (!vault.written && !writeVault(page, vault, registries, prices)) return false;
        put(page, 2, 1);
        put(page, w, 4);
        put(page, vault.index, 2);
        put(page, shares, 32);
        optional(page, askFigure(page, vault, IVault.convertToAssets.selector, shares, WORTH_GAS));
        if (vault.class == VAULT_V2) {
            bool sends = allows(page, vault.at, IVault.canSendShares.selector, uint160(wallet));
            put(page, sends && allows(page, vault.at, IVault.canReceiveAssets.selector, uint160(wallet)) ? 1 : 0, 1);
        } else {
            optional(page, askFigure(page, vault, IVault.maxWithdraw.selector, uint160(wallet), WITHDRAWAL_GAS));
        }
        put(page, cooling, 32);
        put(page, end, 8);
        put(page, window, 8);
        return true;
    }

    function classify(Page memory page, Vault memory vault, Registries memory registries) private view {
        if (knows(page, registries.metaMorpho, IFactory.isMetaMorpho.selector, vault.at)) vault.class = METAMORPHO;
        else if (knows(page, registries.vaultV2, IFactory.isVaultV2.selector, vault.at)) vault.class = VAULT_V2;
    }

    function writeVault(
        Page memory page,
        Vault memory vault,
        Registries memory registries,
        PriceSources calldata prices
    ) private view returns (bool) {
        address at = vault.at;
        if (!ask(page, at, IVault.asset.selector, 32)) return false;
        address asset = address(uint160(word(page.answer)));
        if (vault.class == 0) classify(page, vault, registries);
        put(page, 1, 1);
        put(page, vault.index, 2);
        put(page, vault.class, 1);
        describe(page, at);
        describe(page, asset);
        beforeCall(page, priceGasMax(prices));
        page.cursor = writePrice(prices, asset, page.cursor);
        put(page, ask(page, at, IVault.paused.selector, 32) && word(page.answer) == 1 ? 1 : 0, 1);
        optional(page, ask(page, at, IVault.cooldownDuration.selector, 32));
        if (vault.class == VAULT_V2) {
            optional(page, ask1(page, asset, IVault.balanceOf.selector, uint160(at), 32));
            writeAdapter(page, at, asset, registries);
        } else if (vault.class == METAMORPHO) {
            writeQueue(page, at, asset);
        }
        vault.written = true;
        return true;
    }

    /// The markets of a MetaMorpho's queue, in its order.
    function writeQueue(Page memory page, address vault, address asset) private view {
        uint256 start = page.cursor;
        if (queue(page, vault, asset)) return;
        page.cursor = start;
        put(page, QUEUE_UNTOLD, 1);
    }

    /// False if it does not tell.
    function queue(Page memory page, address vault, address asset) private view returns (bool) {
        if (!ask(page, vault, IVault.withdrawQueueLength.selector, 32)) return false;
        uint256 length = word(page.answer);
        if (length > QUEUE_MAX || !ask(page, vault, IVault.MORPHO.selector, 32)) return false;
        address morpho = address(uint160(word(page.answer)));
        if (!ask1(page, asset, IVault.balanceOf.selector, uint160(morpho), 32)) return false;
        uint256 held = word(page.answer);
        put(page, length, 1);
        for (uint256 i = 0; i < length; i++) {
            if (!ask1(page, vault, IVault.withdrawQueue.selector, i, 32)) return false;
            uint256 id = word(page.answer);
            put(page, id, 32);
            (bool told, uint256 supplied) = suppliedTo(page, morpho, id, vault);
            if (!told) return false;
            put(page, supplied, 32);
            (bool pays, uint256 liquidity) = readLiquidity(page, morpho, id, held);
            if (!pays) return false;
            put(page, liquidity, 32);
        }
        return true;
    }

    /// What a lender has in a market of Morpho Blue, with the interest until now; false if that is not told.
    function suppliedTo(
        Page memory page,
        address morpho,
        uint256 id,
        address lender
    ) private view returns (bool, uint256) {
        argument(page, 0, id);
        argument(page, 1, uint160(lender));
        (bool ok, uint256 size) = askFor(page, morpho, IMorpho.position.selector, 68, CONTRACT_GAS, 32);
        if (!ok || size < 96) return (false, 0);
        uint256 shares = word(page.answer);
        if (shares == 0) return (true, 0);
        if (!ask1(page, morpho, IMorpho.market.selector, id, 192)) return (false, 0);
        for (uint256 i = 0; i < 6; i++) argument(page, 5 + i, word(page.answer + 32 * i));
        if (!ask1(page, morpho, IMorpho.idToMarketParams.selector, id, 160)) return (false, 0);
        for (uint256 i = 0; i < 5; i++) argument(page, i, word(page.answer + 32 * i));
        return accruedSupply(page, shares);
    }

    /// Assets of a supply after the interest since the market's last update, as Morpho Blue accrues it; arguments are the
    /// market's parameters and state. Nothing overflows at a rate that is possible, and nothing reverts at any.
    function accruedSupply(Page memory page, uint256 shares) private view returns (bool, uint256) {
        unchecked {
            uint256 arguments = page.question + 4;
            address irm = address(uint160(word(arguments + 96)));
            uint256 lent = word(arguments + 160);
            uint256 lentShares = word(arguments + 192);
            uint256 elapsed = block.timestamp - word(arguments + 288);
            uint256 owed = word(arguments + 224);
            if (elapsed != 0 && owed != 0 && irm != address(0)) {
                bytes4 selector = bytes4(
                    keccak256(
                        'borrowRateView((address,address,address,address,uint256),(uint128,uint128,uint128,uint128,uint128,uint128))'
                    )
                );
                (bool ok, uint256 size) = askFor(page, irm, selector, 356, CONTRACT_GAS, 32);
                if (!ok || size < 32 || word(page.answer) > RATE_MAX) return (false, 0);
                uint256 interest;
                {
                    uint256 first = word(page.answer) * elapsed;
                    uint256 second = (first * first) / (2 * WAD);
                    uint256 third = (second * first) / (3 * WAD);
                    interest = (owed * (first + second + third)) / WAD;
                }
                lent += interest;
                uint256 fee = (interest * word(arguments + 320)) / WAD;
                // The fee's shares are bought at what the others have.
                if (fee != 0) lentShares += (fee * (lentShares + 1e6)) / (lent - fee + 1);
            }
            return (true, (shares * (lent + 1)) / (lentShares + 1e6));
        }
    }

    /// What a market of Morpho Blue can pay, of which it holds so much; false if that is not told.
    function readLiquidity(
        Page memory page,
        address morpho,
        uint256 id,
        uint256 held
    ) private view returns (bool, uint256) {
        if (!ask1(page, morpho, IMorpho.market.selector, id, 96)) return (false, 0);
        // Interest adds as much to both.
        uint256 lent = word(page.answer);
        uint256 owed = word(page.answer + 64);
        uint256 liquidity = lent > owed ? lent - owed : 0;
        return (true, held < liquidity ? held : liquidity);
    }

    /// What the liquidity adapter of a Morpho Vault V2 can pay. Only the code of adapters in Morpho's registry is known: a
    /// curator can name any other contract, and an allocator the adapter of another vault, which pays that one alone.
    function writeAdapter(
        Page memory page,
        address at,
        address asset,
        Registries memory registries
    ) private view {
        if (!ask(page, at, IVault.liquidityAdapter.selector, 32)) return put(page, 3, 1);
        address adapter = address(uint160(word(page.answer)));
        if (adapter == address(0)) return put(page, 0, 1);
        if (!ask1(page, at, IVault.isAdapter.selector, uint160(adapter), 32)) return put(page, 3, 1);
        if (word(page.answer) != 1) return put(page, 0, 1);
        if (!knows(page, registries.adapters, IFactory.isInRegistry.selector, adapter)) return put(page, 3, 1);
        if (!ask(page, adapter, IAdapter.parentVault.selector, 32)) return put(page, 3, 1);
        if (address(uint160(word(page.answer))) != at) return put(page, 0, 1);
        if (ask(page, adapter, IAdapter.morphoVaultV1.selector, 32)) {
            address inner = address(uint160(word(page.answer)));
            if (!knows(page, registries.metaMorpho, IFactory.isMetaMorpho.selector, inner)) return put(page, 3, 1);
            argument(page, 0, uint160(adapter));
            (bool told, uint256 length) =
                askFor(page, inner, IVault.maxWithdraw.selector, 36, WITHDRAWAL_GAS, 32);
            if (!told || length < 32) return put(page, 3, 1);
            uint256 most = word(page.answer);
            put(page, 2, 1);
            put(page, most, 32);
            put(page, most, 32);
            put(page, uint160(inner), 20);
            return writeQueue(page, inner, asset);
        }
        if (!ask(page, adapter, IAdapter.morpho.selector, 32)) return put(page, 3, 1);
        address morpho = address(uint160(word(page.answer)));
        (bool ok, uint256 size) =
            askFor(page, at, IVault.liquidityData.selector, 4, CONTRACT_GAS, 64 + MARKET_BYTES);
        if (!ok || size < 64 + MARKET_BYTES || word(page.answer + 32) != MARKET_BYTES) return put(page, 3, 1);
        uint256 id;
        uint256 answer = page.answer;
        assembly ("memory-safe") {
            id := keccak256(add(answer, 64), 160)
        }
        if (!ask1(page, adapter, IAdapter.expectedSupplyAssets.selector, id, 32)) return put(page, 3, 1);
        uint256 supplied = word(page.answer);
        if (!ask1(page, asset, IVault.balanceOf.selector, uint160(morpho), 32)) return put(page, 3, 1);
        (bool pays, uint256 liquidity) = readLiquidity(page, morpho, id, word(page.answer));
        if (!pays) return put(page, 3, 1);
        put(page, 1, 1);
        put(page, supplied, 32);
        put(page, liquidity, 32);
        put(page, id, 32);
    }

    /// True if one of the registries says so.
    function knows(
        Page memory page,
        address[] memory registries,
        bytes4 selector,
        address code
    ) private view returns (bool) {
        for (uint256 i = 0; i < registries.length; i++) {
            if (allows(page, registries[i], selector, uint160(code))) return true;
        }
        return false;
    }

    function allows(Page memory page, address target, bytes4 selector, uint256 a) private view returns (bool) {
        return ask1(page, target, selector, a, 32) && word(page.answer) == 1;
    }

    /// A figure that takes much gas; a vault that uses up all of it is not asked for another.
    function askFigure(
        Page memory page,
        Vault memory vault,
        bytes4 selector,
        uint256 a,
        uint256 gasMax
    ) private view returns (bool) {
        if (vault.struck) return false;
        argument(page, 0, a);
        uint256 before = gasleft();
        (bool ok, uint256 size) = askFor(page, vault.at, selector, 36, gasMax, 32);
        vault.struck = !ok && before - gasleft() > gasMax / 2;
        return ok && size >= 32;
    }

    function optional(Page memory page, bool known) private pure {
        put(page, known ? 1 : 0, 1);
        put(page, known ? word(page.answer) : 0, 32);
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
