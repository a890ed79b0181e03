// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {BlockHeight} from '../../chain/call/block_height.sol';

interface IRegistry {
    function resolver(bytes32 node) external view returns (address);
}

interface IResolver {
    function supportsInterface(bytes4 id) external view returns (bool);
    function addr(bytes32 node) external view returns (address);
    function resolve(bytes calldata name, bytes calldata question) external view returns (bytes memory);
}

interface IUniversalResolver {
    error ResolverNotFound(bytes name);
    error UnsupportedResolverProfile(bytes4 selector);

    function resolve(bytes calldata name, bytes calldata question) external view returns (bytes memory, address);
}

/// Finds the address that a name of ENS stands for. Where ENS' Universal Resolver has code, it answers, because names
/// that moved to version 2 may keep an old record in the registry of version 1: https://docs.ens.domains/resolvers/universal
/// Elsewhere the lens asks that registry who resolves the name, or the nearest of its parents (ENSIP-10), and then that
/// contract. It is never deployed: its code stands at an address for the length of one call, or runs as the creation
/// code of one.
///
/// The answer is the header of `page.sol`, where taken is 0, then u8 outcome and the address.
contract Lens is BlockHeight {
    address private constant REGISTRY = 0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e;
    /// The proxy that ENS keeps at the same address whatever version resolves names.
    address private constant UNIVERSAL_RESOLVER = 0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe;
    uint256 private constant CALL_GAS = 1_500_000;
    /// It walks registries and calls the resolver in turn.
    uint256 private constant UNIVERSAL_GAS = 10_000_000;
    /// Selector of `OffchainLookup`, ERC-3668.
    bytes4 private constant OFFCHAIN_LOOKUP = 0x556f1830;

    uint8 private constant NO_RESOLVER = 0;
    uint8 private constant ANSWERED = 1;
    uint8 private constant OFFCHAIN = 2;
    uint8 private constant SILENT = 3;
    uint8 private constant NO_ENS = 4;

    /// `name` as DNS writes it; `nodes` are the hash of the name, of its parent, and so on.
    function read(bytes calldata name, bytes32[] calldata nodes) external view {
        (uint256 number, bytes32 parentHash) = height();
        (uint8 outcome, address wallet) = find(name, nodes);
        bytes memory answer = abi.encodePacked(
            abi.encodePacked(uint8(1), uint64(block.chainid), uint64(number), uint64(block.timestamp), parentHash),
            uint32(0),
            outcome,
            wallet
        );
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }

    function find(bytes calldata name, bytes32[] calldata nodes) private view returns (uint8, address) {
        if (UNIVERSAL_RESOLVER.code.length > 0) return universal(name, nodes[0]);
        if (REGISTRY.code.length == 0) return (NO_ENS, address(0));
        for (uint256 i = 0; i < nodes.length; i++) {
            (, bytes memory found) = ask(REGISTRY, abi.encodeCall(IRegistry.resolver, (nodes[i])));
            address resolver = address(uint160(wordIn(found, 0)));
            if (resolver == address(0)) continue;
            bytes memory question = abi.encodeCall(IResolver.addr, (nodes[0]));
            if (isExtended(resolver)) return resolved(resolver, abi.encodeCall(IResolver.resolve, (name, question)), 2);
            // Only an extended resolver speaks for the names below its own.
            if (i > 0) return (NO_RESOLVER, address(0));
            return resolved(resolver, question, 0);
        }
        return (NO_RESOLVER, address(0));
    }

    function universal(bytes calldata name, bytes32 node) private view returns (uint8, address) {
        bytes memory question = abi.encodeCall(IResolver.addr, (node));
        (bool ok, bytes memory answer) = UNIVERSAL_RESOLVER.staticcall{gas: UNIVERSAL_GAS}(
            abi.encodeCall(IUniversalResolver.resolve, (name, question))
        );
        if (ok) return addressIn(answer, 3);
        bytes4 reason = bytes4(answer);
        if (reason == OFFCHAIN_LOOKUP) return (OFFCHAIN, address(0));
        if (reason == IUniversalResolver.ResolverNotFound.selector) return (NO_RESOLVER, address(0));
        // Its resolver answers, but knows no addresses.
        if (reason == IUniversalResolver.UnsupportedResolverProfile.selector) return (ANSWERED, address(0));
        return (SILENT, address(0));
    }

    function isExtended(address resolver) private view returns (bool) {
        bytes memory question = abi.encodeCall(IResolver.supportsInterface, (IResolver.resolve.selector));
        (bool ok, bytes memory answer) = ask(resolver, question);
        return ok && wordIn(answer, 0) == 1;
    }

    function resolved(address resolver, bytes memory question, uint256 at) private view returns (uint8, address) {
        (bool ok, bytes memory answer) = ask(resolver, question);
        if (!ok) return (bytes4(answer) == OFFCHAIN_LOOKUP ? OFFCHAIN : SILENT, address(0));
        return addressIn(answer, at);
    }

    /// The address is the word of this number in the answer: the first of `bytes` comes after their length.
    function addressIn(bytes memory answer, uint256 at) private pure returns (uint8, address) {
        if (at > 0) {
            uint256 size = wordIn(answer, at - 1);
            if (size == 0 && answer.length >= at * 32) return (ANSWERED, address(0));
            if (size < 32) return (SILENT, address(0));
        }
        if (answer.length < (at + 1) * 32) return (SILENT, address(0));
        return (ANSWERED, address(uint160(wordIn(answer, at))));
    }

    function ask(address target, bytes memory question) private view returns (bool, bytes memory) {
        return target.staticcall{gas: CALL_GAS}(question);
    }

    /// 0 if the bytes end before it.
    function wordIn(bytes memory text, uint256 index) private pure returns (uint256 value) {
        if (text.length < (index + 1) * 32) return 0;
        assembly ("memory-safe") {
            value := mload(add(text, mul(add(index, 1), 32)))
        }
    }
}
